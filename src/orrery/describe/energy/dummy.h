// Accelergy's figures for components of technology -1: 1 pJ for each action, 0 for leak, 1 um^2.
//
// They have no physical meaning. Accelergy's own architectures use them for fan-outs without a description, so
// reproducing Accelergy's results needs them. Otherwise this estimator is not used, and technology -1 is an error.
#pragma once

#include "orrery/describe/energy/estimator.h"

namespace orrery::energy {

class Dummy : public Estimator {
 public:
  std::string_view name() const override { return "dummy"; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;
};

}  // namespace orrery::energy
