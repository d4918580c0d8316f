// The fields of a plan and a model by their paths: what `--set` can change, and docs/model/cluster.md lists.
#pragma once

#include <set>
#include <string>

#include "orrery/base/text/field.h"
#include "orrery/describe/workload/plain_transformer.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// Both lists point into what they are given.

// The schedule `interleaved` leaves the chunks of a stage, a field of their own, as they are.
base::Fields fields(Plan& plan);

// Those of its software: they begin with `stack.`.
base::Fields fields(Stack& stack);

// A model as `--set model.` speaks of it: the sizes of its description, and what a run adds to them.
struct Description {
  workload::PlainTransformer sizes;
  TrainedAs as;
  std::set<std::string> said = {};  // fields that were set
};

// Sizes that cannot go together are left to `check`.
base::Fields fields(Description& of);

}  // namespace orrery::cluster
