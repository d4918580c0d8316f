// What no plan can undercut, from parts of what evaluate() computes. Every bound is of a set of plans that share some
// choices; bounds_test.cc holds each against evaluate() on thousands of random plans.
//
//   peak        T >= b F / (n P): all accelerators compute at their peak all the time
//   whole       T >= B tau / (b d p): the stages of a pipeline together spend at least what one stage that has all
//               layers spends on a microbatch (host and device join as a norm does, and a norm of a sum is at most the
//               sum of norms), and the slowest spends at least its share
//   stages      T >= max over stages of (m tau_i + what it waits for the others): what else an iteration takes only
//   adds outside     T >= that, and boundaries, gradients and weights less what can be hidden of them at most, and the
//   step memory      weights, gradients and optimiser's state sharded as far as they can be, and the activations of
//   1F1B
//               without chunks: other choices of sharding and schedule keep no less
#pragma once

#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/cluster/pipeline/pipeline.h"

namespace orrery::cluster {

// Seconds of one accelerator for one sequence, at the peak of what `plan` computes in; 0 where operators do not come
// from the accelerator's data sheet and so may be faster than that.
double peak_seconds(const Model& model, const System& system, const Plan& plan,
                    const machine::OperatorModel& operators);

// Where the ranks are with which a rank shares sequences and experts: all that a layer's time knows of dp, pp and the
// order of degrees on the network.
struct Reach {
  collective::Group contexts, experts;
  double expert_nodes = 1;

  bool operator==(const Reach& other) const {
    return contexts.joined == other.contexts.joined && contexts.ranks == other.contexts.ranks &&
           experts.joined == other.experts.joined && experts.ranks == other.experts.ranks &&
           expert_nodes == other.expert_nodes;
  }
};
Reach reach_of(const System& system, const Plan& plan);

// Every reach that plans like `plan`, with `expert_tp` tensor ranks to an expert, can have.
struct Reaches {
  std::vector<Reach> all;
};
Reaches reaches(const System& system, Plan plan, base::Count expert_tp, const std::vector<Order>& orders,
                const std::vector<base::Count>& pps, const std::vector<base::Count>& dps, base::Count most_gpus);

// The least seconds that a rank spends on one microbatch if its stage has all layers, wherever the others are. Of
// `plan` tp, cp, ep, microbatch, recomputation and sequence parallelism count. `cut`, `whole`: reaches where an expert
// is cut over tp, and where it is not; of a plan that says which, or has nothing to cut, `cut` alone counts.
double whole_seconds(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators, const Reaches& cut, const Reaches& whole);
// With the reach of this very plan.
double whole_seconds(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators);

// No more than whole_seconds() of any reach, for one evaluation: as if tokens, keys and values travelled in no time.
double whole_seconds_alone(const Model& model, const System& system, const Plan& plan,
                           const machine::OperatorModel& operators);

// The stages of `plan`; pp, over how many tensor ranks an expert is cut, whether weight gradients are deferred or
// stages folded, and its reach count as well.
Pipeline stages_of(const Model& model, const System& system, const Plan& plan, const machine::OperatorModel& operators);

// Of its work, the share that a stage waits for the slowest of its replicas.
double late_share(const System& system, const Plan& plan);

// The least seconds of an iteration of any plan that has `pipe`, for its own microbatches and turns; `late` as above.
double pipeline_bound(const Model& model, const Plan& plan, const Pipeline& pipe, double late = 0);
// Less than that of stages folded to a V, without their events: the slowest stage's work, or the way of the last
// microbatch through all stages and back.
double folded_floor(const Plan& plan, const Pipeline& pipe);
// The same for so many microbatches, whatever the turns.
double turns_bound(const Pipeline& pipe, double microbatches, double late = 0);

// The least seconds that come to these: what communication outside of the stages shows, whatever it goes beside
// (owners' broadcasts, which nothing is beside, whole), and the optimiser's step. Of turns it knows the schedule alone;
// what is offloaded only adds.
double outside_bound(const Model& model, const System& system, const Plan& plan,
                     const machine::OperatorModel& operators);

// The fewest bytes, whatever is sharded and in whatever turns microbatches come, at this and any smaller dp, and where
// no more is offloaded than by `plan`; among the turns may be `plan`'s and `lightest`.
double memory_bound(const Model& model, const Plan& plan, Schedule lightest = Schedule::kOneFOneB);
// The same of its own schedule and chunks.
double turns_memory_bound(const Model& model, const Plan& plan);

// What evaluate() says of a plan's bytes: the allocator's reserve gives way where memory is short.
struct Bytes {
  double in_use = 0, total = 0;
};
Bytes bytes_of(const Model& model, const System& system, const Plan& plan);

}  // namespace orrery::cluster
