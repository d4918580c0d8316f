// The answer's deployment step by step.
#pragma once

#include "orrery/engines/serving/model/pools.h"
#include "orrery/verbs/serve/answer.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// Throws InputError O2070: copies in the host's memory are asked for by an option, and no link to it is known.
[[noreturn]] void lack_host_link(const cluster::System& system, const char* option);

// Fills `simulation`, or says that it ended early. Requests are the trace's, else drawn of the load: of users 20 each,
// of which the first quarter and the last wave do not count, or as many as --requests-per-user says, which all count.
// Throws InputError O2075.
void simulate(const ServeRequest& request, const serving::ServedModel& model, const serving::PoolKinds& on,
              const base::Budget& budget, ServedAnswer& answer);

}  // namespace orrery::verbs
