// What the rest of a mapping cannot make cheaper, by the full model.
#pragma once

#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {

class PartialBound {
 public:
  // Borrows both.
  PartialBound(const Model& model, const Space& space);

  // No mapping is below it that keeps the same at `level` and outside of it, and has the same loops outside of it. Of
  // `mapping`, what is left iterates at the level, where nothing is spread, and further in nothing is kept.
  Key least(const Mapping& mapping, int level, const std::vector<Metric>& objective);
  // No mapping of the space is below it.
  Key least(const std::vector<Metric>& objective);

 private:
  const Model& model_;
  const Space& space_;
  std::vector<double> units_;    // compute units below each level that may work at once
  std::vector<double> touched_;  // words of each dataspace that cross at least; 0: nothing is known
  Evaluation scratch_;
};

}  // namespace orrery::nest
