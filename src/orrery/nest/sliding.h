// Traffic of nests whose dataspaces slide: a rank that adds two iterating dimensions (convolution
// windows), where consecutive tiles overlap and the closed form does not hold.
#pragma once

#include <vector>

#include "orrery/nest/mapping.h"
#include "orrery/nest/mapspace.h"
#include "orrery/nest/traffic.h"
#include "orrery/workload/einsum.h"

namespace orrery::nest {

// Fills `out` as closed_form does; equal to it wherever both apply.
void sliding(const workload::Einsum& einsum, const Mapping& mapping, const std::vector<ReuseRules>& reuse,
             Traffic& out);

}  // namespace orrery::nest
