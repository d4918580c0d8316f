// The plans of one group, gone through with bounds.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/cluster/search/groups.h"
#include "orrery/engines/cluster/search/question.h"

namespace orrery::cluster {

class Walk {
 public:
  // `known`: what was kept before this round.
  Walk(const Question& question, const Group& group, const Incumbents& known, Incumbents& incumbents, Counts& counts,
       base::Ticker& clock);

  // False: the budget was spent, or one plan was enough.
  bool run();

 private:
  // What one order of degrees on the network takes at least: with 1F1B and all that counts alike, with
  // DualPipe, and folded to a V.
  struct Ordered {
    Order order = Order::kCpDpPp;
    double outside = 0, outside_dual = 0, outside_folded = 0;

    double of(Schedule turns) const {
      return turns == Schedule::kDualPipe ? outside_dual : folded(turns) ? outside_folded : outside;
    }
  };
  // With what is sharded, of one order and schedule.
  struct Sharded {
    Order order = Order::kCpDpPp;
    Schedule turns = Schedule::kOneFOneB;  // as bounded_as() has it
    int zero = 0;
    base::Count shard = 0;
    double outside = 0;
  };
  // A plan's order and its bounds: of its stages, and of all; whether that is its time with nothing offloaded.
  struct Left {
    Order order = Order::kCpDpPp;
    double stages = 0, seconds = 0;
    bool kept_all = false, hopeless = false;
  };
  struct Piped {
    Schedule turns = Schedule::kOneFOneB;
    base::Count cut = 0;  // tensor ranks of an expert
    Reach reach;
    Pipeline stages;
  };

  double batch() const { return static_cast<double>(group_.plan.global_batch); }
  bool bounded() const { return !q_.options.enumerate; }
  bool too_many(double bytes) const { return bytes > std::min(q_.limits.memory, q_.limits.in_use); }
  bool prune(double seconds, double memory, base::Count least_used, base::Count most_used, base::Count pp, bool exact);

  bool stages(std::size_t p);
  double stages_bound(const Plan& plan) const;
  Schedule least_turns(std::size_t p) const;
  const Pipeline& pipe(const Plan& plan);
  bool replicas(std::size_t p, Plan plan);
  const std::vector<Domain::Tail>& tails(const Plan& plan);
  double outside(const Plan& plan);
  double least_outside(Plan plan, Schedule turns);
  bool sharded(Plan plan);
  bool one(const Plan& plan, Left& left, std::optional<Bytes>& bytes);

  const Question& q_;
  const Group& group_;
  const Incumbents& known_;
  Incumbents& incumbents_;
  Counts& counts_;
  base::Ticker& clock_;
  bool bytes_count_ = false;   // in the objective
  bool stages_alone_ = false;  // what is outside of the stages rarely decides: not worth its bound
  Values dps_;
  std::vector<Piped> pipes_;  // of the stages that are looked at
  // Of the stages and replicas that are looked at:
  std::array<std::vector<Domain::Tail>, 2> tails_;  // with other schedules, with DualPipe
  std::vector<Ordered> orders_;
  std::vector<Sharded> outside_;
  double fewest_bytes_ = 0, late_ = 0;
};

}  // namespace orrery::cluster
