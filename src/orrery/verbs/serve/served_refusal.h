// Why nothing was found, with the arithmetic.
#pragma once

#include <string>

#include "orrery/engines/serving/search/optimize.h"
#include "orrery/verbs/serve/request.h"

namespace orrery::verbs {

// "weights 16.1 GB + activations ... leave 58.7 GB for keys and values".
std::string memory_note(const serving::KvMemory& memory, const serving::Deployment& deployment);

// "a request of 1280 tokens needs 80 blocks, of which there are 0".
std::string blocks_note(const serving::KvMemory& memory, const serving::Deployment& deployment, double tokens);

// Nothing was found because of the rate alone.
bool comes_too_fast(const serving::Optimum& optimum);

// Throws InputError: O2072, O2076, O2077 or O2078. The optimum is of that space and has no best.
[[noreturn]] void refuse(const ServeRequest& request, const serving::ServedModel& model, const serving::Space& space,
                         const serving::Optimum& optimum, const serving::Load& load,
                         const serving::ServiceLimits& limits);

}  // namespace orrery::verbs
