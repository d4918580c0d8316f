// How far held-out runs of each kind were predicted off: what `orrery validate train` finds and expected_error.h reads.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/systems/expected_error.h"
#include "orrery/verbs/validate/run.h"

namespace orrery::verbs {

// Tables whose names begin with the same word are of one source: "nemo" of nemo_dense and nemo_experts.
std::string source_of(const std::string& table);

// By kind, of held-out points, sorted.
std::vector<KindError> error_kinds(const std::vector<ValidatedSet>& sets);

// As catalog/validation/expected/kinds.csv has them.
std::string error_kinds_text(const std::vector<KindError>& kinds);

}  // namespace orrery::verbs
