// Selects the estimator for a query: the most accurate one that answers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/estimator.h"

namespace orrery::energy {

// Why an estimator did not answer.
struct Declined {
  std::string estimator;
  std::string reason;
  bool knows_class = true;
  std::string way_out = {};  // may be empty
  bool operator==(const Declined&) const = default;
};

struct Choice {
  std::optional<Figure> figure;    // leakage and area of `n_instances` copies, where the attribute says so
  std::vector<Declined> refusals;  // without a figure: of every estimator, in the order asked
  std::vector<Declined> gave_up;   // with a figure: of the estimators asked before
};

// Sorted by accuracy (stable), the first that answers; restricted by attributes `plug_in` (a name of ours or
// Accelergy's, any case) and `minimum_accuracy`.
Choice choose(const Query& query, std::span<const std::unique_ptr<Estimator>> estimators);

// Notes and hints that tell why no estimator answered.
void explain(const std::vector<Declined>& refusals, const Primitive& primitive,
             std::span<const std::unique_ptr<Estimator>> estimators, base::Diagnostic& error);

}  // namespace orrery::energy
