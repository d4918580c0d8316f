// Accelergy's figures for what has technology -1: 1 pJ for each action, 0 for leak, 1 um^2.
//
// They stand for nothing. Accelergy's own architectures use them for fan-outs without a description, so results of
// Accelergy are reproduced with them; otherwise no scenario has this estimator, and technology -1 is refused.
#pragma once

#include "orrery/energy/estimator.h"

namespace orrery::energy {

class Dummy : public Estimator {
 public:
  std::string_view name() const override { return "dummy"; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;
};

}  // namespace orrery::energy
