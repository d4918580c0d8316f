// What a request says, as the engine is asked it.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/serving/model/pools.h"
#include "orrery/engines/serving/search/optimize.h"
#include "orrery/engines/serving/simulation/request.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// Throws InputError: O1103 for what is missing or in the way of each other, O2070, O1102.
void require(const ServeRequest& request);

// The trace may be empty. Throws InputError O2074, O2079.
serving::Load load_of(const ServeRequest& request, const std::vector<serving::Request>& trace);

// What the request says of every deployment; the rest of `base` stays.
serving::Deployment base_of(const ServeRequest& request, serving::Deployment base = {});

// What the request leaves open, within the accelerators.
serving::Space space_of(const ServeRequest& request, const serving::ServedModel& model,
                        std::vector<serving::Machine> machines);
// What the pools of an answer stand on; without pools, both the same.
serving::PoolKinds kinds_of(const std::vector<serving::Machine>& machines, const serving::Found& found);

// A rate near the capacity leaves waiting to chance: a search that nothing else limits keeps a tenth free.
serving::ServiceLimits limits_of(const ServeRequest& request, bool searched);
bool is_one(const serving::Space& space);
serving::Deployment only(const serving::Space& space);  // of such a space

// "tp=4" of `--why`: the space with that degree alone. Throws InputError O1102.
serving::Space with_choice(serving::Space space, const std::string& choice);

}  // namespace orrery::verbs
