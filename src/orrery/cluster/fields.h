// The fields of a plan and a model by their paths: what `--set` can change, and docs/model/cluster.md lists.
#pragma once

#include "orrery/base/field.h"
#include "orrery/cluster/model.h"
#include "orrery/cluster/plan.h"

namespace orrery::cluster {

// Both lists point into what they are given.

// The schedule `interleaved` leaves the chunks of a stage, a field of their own, as they are.
base::Fields fields(Plan& plan);

// Sizes that cannot go together are left to `check`.
base::Fields fields(Model& model);

}  // namespace orrery::cluster
