// The command that starts what was priced.
#pragma once

#include <string>

#include "orrery/engines/serving/model/pools.h"
#include "orrery/verbs/serve/answer.h"

namespace orrery::verbs {

// For a shell, a line for each pool. `asked`: the model as the question names it, a name of the catalogue or a file.
std::string launch_command(const std::string& asked, const serving::ServedModel& model, const serving::PoolKinds& on,
                           const ServedAnswer& answer);

}  // namespace orrery::verbs
