// What `map` and `eval` do with their answers: print them, write them under -o.
#pragma once

#include <functional>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/map/json.h"

namespace orrery::verbs {

// Table or JSON, the files of every layer, what cannot be mapped and why, and the exit code. `searched`: of `map`.
int run_mapping(const Console& console, const DocumentRequest& documents, const OutputFolder& output, bool searched,
                const std::function<Results(Run&)>& answer);

}  // namespace orrery::verbs
