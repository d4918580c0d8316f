// Whether the hosts hold what a plan offloads.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::verbs {

// O1980 where they do not; silent about plans that are wrong already.
void check_hosts(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                 base::Diagnostics& found);

}  // namespace orrery::verbs
