// The best mapping on hardware that knows zeros.
#pragma once

#include <optional>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/engines/nest/space/space.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"

namespace orrery::nest {

struct SparseOptimum {
  Optimum optimum;                         // its evaluation is that of `sparse`
  std::optional<SparseEvaluation> sparse;  // of the mapping
  std::optional<SparseMisfit> misfit;      // without a mapping: why the last one looked at did not fit
  bool enumerated = false;                 // every mapping was priced: the answer is proven
};

// As `optimize`, by the sparse model. Small map spaces are enumerated, which proves the answer; of larger ones the best
// mapping found is given with a bound that holds. `objective`, limits and exceptions as there.
SparseOptimum optimize_sparse(const Model& model, const SparseDesign& design, const Mapspace& mapspace,
                              std::vector<Metric> objective, const SearchLimits& limits);

// What every mapping costs at least is the dense cost on a chip whose energies, ports and operations are made as cheap
// as zeros can make them. `cycles`: the share of the dense cycles that is left at least.
// `space`: mappings of it only.
struct SparseBound {
  machine::Chip chip;
  ModelOptions options;
  double cycles = 1;
};
SparseBound sparse_bound(const Model& model, const SparseDesign& design, const Space* space = nullptr);

}  // namespace orrery::nest
