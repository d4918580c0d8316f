// evaluate_sparse(model, design, mapping): the dense model's counts, less what the hardware saves on zeros, plus what
// it spends on knowing them.
//
// See sparse_model.cc for the equations and docs/model/nest.md for worked numbers.
#pragma once

#include <optional>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"

namespace orrery::nest {

// `mapping` is perfect and legal on a chip without the capacities of levels that compress (`roomy`). Nothing where it
// does not fit the design, with the reason in `misfit`. Pure and thread-safe. Throws as Model::evaluate.
std::optional<SparseEvaluation> evaluate_sparse(const Model& model, const SparseDesign& design, const Mapping& mapping,
                                                std::optional<SparseMisfit>& misfit);

// The chip without the capacities of levels that hold compressed tiles: what its mappings need is known only when they
// are evaluated.
machine::Chip roomy(const machine::Chip& chip, const SparseDesign& design);

}  // namespace orrery::nest
