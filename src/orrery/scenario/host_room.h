// Whether the hosts hold what a plan offloads.
#pragma once

#include "orrery/base/diagnostic.h"
#include "orrery/cluster/model.h"
#include "orrery/cluster/plan.h"
#include "orrery/cluster/system.h"

namespace orrery::scenario {

// O1980 where they do not; silent about plans that are wrong already.
void check_hosts(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan,
                 base::Diagnostics& found);

}  // namespace orrery::scenario
