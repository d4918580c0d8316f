// `mapping` documents <-> nest::Mapping: Timeloop's, the mapper's own `map.yaml`, and ours.
#pragma once

#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Targets are levels, or containers by their own name. What is not given follows Timeloop: factors are 1,
// permutations follow the problem's order, splits put all loops on X, dataspaces are kept (a fan-out without a store
// keeps none). A factor of 0 is what the other levels leave of its dimension. Whether the mapping fits the chip is
// nest::check_legal's to say; `places` receives the directives' places for it, and `space` their exceptions to reuse
// (`no_reuse` and the like), which in a mapping hold for it alone. Errors: O0700 to O0708, O0505 to O0519
// in texts, collected in `found`; the result is then unusable.
nest::Mapping read_mapping(const yaml::Node& mapping, const machine::Chip& chip, const workload::Einsum& einsum,
                           const Scope& variables, base::Diagnostics& found, nest::MappingPlaces* places = nullptr,
                           nest::Mapspace* space = nullptr);

// The same mapping with its loops of one iteration moved outermost, in the problem's order; splits count the loops
// that stay on X. Orders that differ in such loops only mean the same.
nest::Mapping canonical(const nest::Mapping& mapping);

// The layout of Timeloop's `map.yaml`: what each level keeps, innermost first, then each level's loops. Loops of one
// iteration are written in canonical order, so that reading the text back yields `canonical(mapping)`.
std::string write_mapping_yaml(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping);

}  // namespace orrery::formats::timeloop
