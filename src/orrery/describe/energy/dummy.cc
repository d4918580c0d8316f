#include "orrery/describe/energy/dummy.h"

namespace orrery::energy {

std::optional<double> Dummy::accuracy(const Query& query) const {
  const Value* technology = find(query.attributes, "technology");
  if (!technology || number(*technology) != -1.0) return std::nullopt;
  return 100;
}

Answer Dummy::estimate(const Query& query) const {
  Figure figure;
  figure.value = query.action == "leak" ? 0 : 1;
  figure.accuracy_percent = 100;
  figure.basis = Basis::kAssumed;
  figure.estimator = name();
  figure.source = "Accelergy's stand-in for technology -1";
  return figure;
}

}  // namespace orrery::energy
