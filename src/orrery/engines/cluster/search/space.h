// Which plans a search may choose from.
//
// A variable that is not given is open, and has the values
//
//   tp          divisors of the heads (of all kinds of layers), up to 1024
//   pp          1 to the number of layers, up to 4096
//   cp          powers of two that divide the sequence, up to 1024
//   ep          divisors of the experts, up to 1024; 1 of a dense model
//   dp, micro_batch   divisors of the global batch whose product divides it
//   schedule, recompute, sequence_parallel, zero   all there are
//   interleave  1 to the layers of the longest stage, of 1F1B with several stages
//   expert_tp   1 and tp, of mixtures with several tensor ranks
//   shard       all replicas, or those of a node (hybrid sharding)
//   offload_activations, offload_optimizer   nothing, half, all, where the host's memory can be reached
//   order       all that place the degrees differently
//
// as far as the plan is possible(), its software can run it (supported_features.h) and it takes at most the
// accelerators that there are; it may leave some idle. Where dp and microbatch are given they need not divide what they
// share out. Choices that make no difference are one, the first: an open schedule of a single stage, open sequence
// parallelism of one tensor rank, open sharding where nobody else has the same weights.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "orrery/engines/cluster/model/decision_variables.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/cluster/pipeline/placement.h"

namespace orrery::cluster {

using Values = std::vector<base::Count>;

struct Space {
  Plan base;  // what no variable says
  base::Count most_gpus = 1;
  std::array<Values, kVariables.size()> given;  // empty: open; a global batch is always given
  Features waived = 0;                          // of those that base.stack lacks: not insisted on

  Values& of(Variable variable) { return given[static_cast<std::size_t>(variable)]; }
  const Values& of(Variable variable) const { return given[static_cast<std::size_t>(variable)]; }
  bool open(Variable variable) const { return of(variable).empty(); }
};

// Features whose choice was given: what is given is kept, whatever the software can.
Features given_features(const Space& space);

// Order of microbatches and chunks of a stage.
struct Turns {
  Schedule schedule = Schedule::kOneFOneB;
  base::Count interleave = 1;
};

// Which of some turns are bounded by more than 1F1B's.
struct OddTurns {
  bool dual = false, folded = false;        // whether any are DualPipe, folded to a V
  Schedule lightest = Schedule::kOneFOneB;  // that which holds the fewest activations
};

// The space with the values of its variables told. Borrows model and system.
class Domain {
 public:
  Domain(const Model& model, const System& system, Space space);

  const Space& space() const { return space_; }
  const Values& batches() const { return space_.of(Variable::kGlobalBatch); }
  const Values& tp() const { return tp_; }
  const Values& pp() const { return pp_; }
  const Values& cp() const { return cp_; }
  const Values& ep() const { return ep_; }
  const Values& recompute() const { return recompute_; }
  const Values& dp(std::size_t batch) const { return dp_[batch]; }                      // rising
  const Values& micro_batches(std::size_t batch) const { return micro_batch_[batch]; }  // rising
  const Values& sequence_parallel(base::Count tp) const { return sequence_parallel_[tp > 1 ? 1 : 0]; }
  Values expert_tp(base::Count tp) const;
  const Values& orders() const { return orders_; }
  Orders orders(base::Count cp, base::Count dp, base::Count pp) const;
  // What is sharded, over how many, and what lies in the host's memory.
  struct Tail {
    int zero = 0;
    base::Count shard = 0, offload_activations = 0, offload_optimizer = 0;

    void set_on(Plan& plan) const;
  };
  std::vector<Tail> tails(const Plan& plan) const;  // of tp, dp, cp, pp and the schedule
  // Whether a batch is shared out over dp in such microbatches; an open microbatch divides its part.
  bool shares(base::Count batch, base::Count dp, base::Count micro_batch) const;
  // The most that a plan of the space offloads.
  void offload_all(Plan& plan) const;
  // Of all stages alike; which of them the microbatches allow is for possible() to say.
  const std::vector<Turns>& turns(std::size_t pp_index) const { return turns_[pp_index]; }
  const OddTurns& odd_turns(std::size_t pp_index) const { return odd_turns_[pp_index]; }

  // Whether the plan obeys all rules, and its software can run it.
  bool allowed(const Plan& plan) const {
    return possible(*model_, *system_, plan) && runs_without(*model_, plan, lacking_);
  }

  // A plan of the space with every variable at its first value.
  Plan first() const;

  // Every plan that is allowed, in no particular order that matters. `visit` returns false to end it.
  void each(const std::function<bool(const Plan&)>& visit) const;
  // Of one tensor degree, for threads.
  bool each_of(base::Count tp, const std::function<bool(const Plan&)>& visit) const;

  // How many there are, counted without going through them all.
  double count() const;

 private:
  std::vector<Turns> turns_of(base::Count pp) const;
  double spreads(base::Count tp, base::Count cp, base::Count dp, bool piped, bool dual) const;
  bool each_choice(std::size_t pp_index, Plan plan, const std::function<bool(const Plan&)>& visit) const;

  const Model* model_;
  const System* system_;
  Space space_;
  Features lacking_;
  Features turn_features_, tail_features_;  // that stages, chunks and microbatches decide; that Tail does
  Features hybrid_sharding_;
  Values tp_, pp_, cp_, ep_, recompute_, offload_activations_, offload_optimizer_, orders_;
  std::vector<Values> dp_, micro_batch_;
  std::array<Values, 2> sequence_parallel_, zero_;
  std::vector<std::vector<Turns>> turns_;
  std::vector<OddTurns> odd_turns_;
};

}  // namespace orrery::cluster
