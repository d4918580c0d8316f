// The cost of a mapping that the user gave.
#pragma once

#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/sparse/sparse_evaluation.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// The answer is no (exit code 1), unlike that of unusable input (exit code 2).
struct IllegalMapping : base::InputError {
  using base::InputError::InputError;
};

// Throws IllegalMapping where `mapping` cannot run on the chip.
void demand_legal(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                  const nest::MappingPlaces& places);

// The same of hardware that does something about zeros (null: nothing): O2037 to O2039, too.
void demand_fit(const workload::Einsum& einsum, const machine::Chip& chip, const nest::SparseDesign* sparse,
                const nest::Mapping& mapping, const nest::MappingPlaces& places);

// O2037 or O2038: why a mapping does not fit sparse hardware.
base::Diagnostics sparse_misfit(const nest::SparseMisfit& misfit, const machine::Chip& chip,
                                const nest::MappingPlaces& places);

// `question` with the cost of `mapping` in place of a search's answer. `places` tells where the parts of the mapping
// were written. Throws IllegalMapping where it cannot run on the chip, or, with `strict`, where the constraints forbid
// it.
MappedLayer evaluate_layer(const LayerQuestion& question, const nest::Mapping& mapping,
                           const nest::MappingPlaces& places, const nest::ModelOptions& options, bool strict);

}  // namespace orrery::verbs
