// Where the ranks of a plan are on the network. A rank's number is mixed-radix in the plan's order, tensor parallelism
// innermost; neighbouring numbers share a node. Numbered without the stages, the ranks of one stage are tp, then cp and
// dp; in that numbering tensor groups are runs of tp, and experts go over runs of ep x expert_tp. Where the pipeline
// stands further in, the network sees such a run in pieces, one for every round of stages.
#pragma once

#include <array>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::cluster {

// Ranks between a stage and the next.
base::Count stage_stride(const Plan& plan);

// `ranks` of one stage, `stride` apart in the stage's numbering.
collective::Group of_stage(const System& system, const Plan& plan, base::Count ranks, base::Count stride);

collective::Group context_ranks(const System& system, const Plan& plan);
collective::Group expert_ranks(const System& system, const Plan& plan);  // that tokens are sent to

// Nodes over which a run of `ranks` neighbours in the stage's numbering is spread; a part of one counts as that part.
double nodes_of(const System& system, const Plan& plan, base::Count ranks);

// The orders that place these degrees differently, each by its first: a degree of 1 has no place.
struct Orders {
  std::array<Order, 6> all = {};
  int count = 0;
  const Order* begin() const { return all.data(); }
  const Order* end() const { return all.data() + count; }
};
Orders different_orders(base::Count cp, base::Count dp, base::Count pp);

}  // namespace orrery::cluster
