// Traffic of nests whose factors leave a remainder (mapping.h): fewer iterations in the last round of a loop.
#pragma once

#include <array>

#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/flows.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// Instances of a storage need not do equally much: the mean over those in use, and the busiest one, which stands at the
// first place of every fan-out and does all that any other does.
struct ImperfectTraffic {
  Flows<double> mean, busiest;
  LevelTable<base::Count> tile;
  LevelTable<double> destinations;  // of a word from level i to the instances just below, in the mean; where wanted
  std::array<base::Count, kMaxLevels> instances{};
  base::Count compute_cycles = 1;  // steps at which any compute unit works
  base::Count compute_instances = 1;
};

void imperfect_traffic(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
                       const std::vector<ReuseRules>& reuse, bool destinations, ImperfectTraffic& out);

}  // namespace orrery::nest
