// Traffic of dataspaces whose tiles may overlap, where factors leave a remainder.
#pragma once

#include "orrery/engines/nest/model/imperfect_traffic.h"

namespace orrery::nest {

// Sets content, share and destinations of dataspace s in `out`, whose `instances` are there already. The busiest is of
// each figure the most that any instance has.
void imperfect_windows(const Shape& shape, const Mapping& mapping, const std::vector<ReuseRules>& reuse, int s,
                       bool destinations, ImperfectTraffic& out);

}  // namespace orrery::nest
