// From few choices to many, with a bound at each step:
//
//   stages pp            the share of the group's bound that pp and the largest dp leave; the stages' times, once
//   replicas dp          m times the slowest stage, and what the replicas and boundaries show at least; the fewest
//                        bytes that this dp needs
//   turns                the pipeline's time with its waits, for each order on the network
//   what is sharded      what the replicas show of that very choice; exact bytes, the same in every order
//   what is offloaded    the time with nothing offloaded
//
// and evaluate(), which alone gives a plan its value.
//
// Cost: 20 ns a (pp, dp), 2 us for one that could be best, 0.1 us for the turns of each, a microsecond for each plan
// that is left.
#include "orrery/engines/cluster/search/walk.h"

#include <algorithm>

#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {

using base::Count;

namespace {

// The schedule whose bound of what is outside of the stages a schedule shares.
Schedule bounded_as(Schedule schedule) {
  if (folded(schedule)) return Schedule::kZbV;
  return schedule == Schedule::kDualPipe ? schedule : Schedule::kOneFOneB;
}

}  // namespace

Walk::Walk(const Question& question, const Group& group, const Incumbents& known, Incumbents& incumbents,
           Counts& counts, base::Ticker& clock)
    : q_(question), group_(group), known_(known), incumbents_(incumbents), counts_(counts), clock_(clock) {
  bytes_count_ = std::find(q_.metrics.begin(), q_.metrics.end(), Metric::kMemory) != q_.metrics.end();
  stages_alone_ = q_.options.any || q_.metrics.front() == Metric::kMemory;
}

bool Walk::run() {
  for (std::size_t p = 0; p < q_.domain.pp().size(); ++p)
    if (!stages(p)) return false;
  return true;
}

bool Walk::prune(double seconds, double memory, Count least_used, Count most_used, Count pp, bool exact) {
  if (!bounded()) return false;
  const auto least = static_cast<double>(least_used), most = static_cast<double>(most_used);
  const ScoreBound bound = bound_of(q_, seconds, memory, batch(), least, most, exact);
  if (!surely_over(q_, seconds, batch(), least, most) && !known_.hopeless(bound, group_.plan.tp, pp) &&
      !incumbents_.hopeless(bound, group_.plan.tp, pp))
    return false;
  ++counts_.bound;
  return true;
}

bool Walk::stages(std::size_t p) {
  if (clock_.spent()) return false;
  Plan plan = group_.plan;
  plan.pp = q_.domain.pp()[p];
  const Count replica = plan.tp * plan.cp * plan.pp;
  const Count most = q_.domain.space().most_gpus;
  if (replica > most || q_.domain.turns(p).empty()) return true;
  dps_.clear();
  for (const Count dp : q_.domain.dp(group_.batch))
    if (dp <= most / replica && q_.domain.shares(plan.global_batch, dp, plan.micro_batch)) dps_.push_back(dp);
  if (dps_.empty()) return true;
  plan.dp = dps_.back();
  plan.gpus = replica * plan.dp;
  const double seconds = stages_bound(plan);
  if (prune(seconds, 0, replica * dps_.front(), plan.gpus, plan.pp, false)) return true;
  q_.domain.offload_all(plan);
  plan.schedule = least_turns(p);
  if (bounded()) {
    const double bytes = memory_bound(q_.model, plan, q_.domain.odd_turns(p).lightest);
    if (too_many(bytes)) {
      ++counts_.capacity;
      return true;
    }
    if (bytes_count_ && prune(seconds, bytes, replica * dps_.front(), plan.gpus, plan.pp, false)) return true;
  }
  pipes_.clear();
  // The most replicas first: most often the fastest.
  for (auto dp = dps_.rbegin(); dp != dps_.rend(); ++dp) {
    plan.dp = *dp;
    plan.gpus = replica * plan.dp;
    if (!replicas(p, plan)) return false;
  }
  return true;
}

// Of all stages alike.
double Walk::stages_bound(const Plan& plan) const {
  return whole_microbatches(plan) * group_.whole_s / static_cast<double>(plan.pp);
}

// DualPipe hides what no other turns do; all others share the bounds of 1F1B.
Schedule Walk::least_turns(std::size_t p) const {
  return q_.domain.odd_turns(p).dual ? Schedule::kDualPipe : Schedule::kOneFOneB;
}

// Plans that differ in nothing that stages know of share their times.
const Pipeline& Walk::pipe(const Plan& plan) {
  const Schedule turns = plan.schedule == Schedule::kGpipe ? Schedule::kOneFOneB
                         : folded(plan.schedule)           ? Schedule::kZbV
                                                           : plan.schedule;
  const Count cut = expert_tp(plan);
  const Reach reach = reach_of(q_.system, plan);
  for (const Piped& known : pipes_)
    if (known.turns == turns && known.cut == cut && known.reach == reach) return known.stages;
  return pipes_.emplace_back(Piped{turns, cut, reach, stages_of(q_.model, q_.system, plan, q_.operators)}).stages;
}

// outside_bound(), which of turns knows no more than bounded_as().
double Walk::outside(const Plan& plan) {
  const Schedule turns = bounded_as(plan.schedule);
  for (const Sharded& known : outside_)
    if (known.zero == plan.zero && known.shard == plan.shard && known.order == plan.order && known.turns == turns)
      return known.outside;
  outside_.push_back(
      {plan.order, turns, plan.zero, plan.shard, outside_bound(q_.model, q_.system, plan, q_.operators)});
  return outside_.back().outside;
}

const std::vector<Domain::Tail>& Walk::tails(const Plan& plan) {
  std::vector<Domain::Tail>& all = tails_[held_stages(plan) == 2 ? 1 : 0];
  if (all.empty()) all = q_.domain.tails(plan);
  return all;
}

// Whatever is sharded.
double Walk::least_outside(Plan plan, Schedule turns) {
  plan.schedule = turns;
  plan.interleave = 1;
  double least = kNever;
  for (const Domain::Tail& tail : tails(plan)) {
    plan.zero = tail.zero;
    plan.shard = tail.shard;
    least = std::min(least, outside(plan));
  }
  return least;
}

bool Walk::replicas(std::size_t p, Plan plan) {
  if (clock_.spent()) return false;
  plan.schedule = least_turns(p);
  const OddTurns& odd = q_.domain.odd_turns(p);
  bool weighed = false;
  fewest_bytes_ = 0;  // which no order changes
  const auto weigh = [&] {
    weighed = true;
    fewest_bytes_ = bounded() ? memory_bound(q_.model, plan, odd.lightest) : 0;
    if (!too_many(fewest_bytes_)) return true;
    ++counts_.capacity;
    return false;
  };
  if (bounded() && bytes_count_ &&
      (!weigh() || prune(stages_bound(plan), fewest_bytes_, plan.gpus, plan.gpus, plan.pp, false)))
    return true;
  late_ = late_share(q_.system, plan);
  orders_.clear();
  outside_.clear();
  for (std::vector<Domain::Tail>& all : tails_) all.clear();
  for (const Order order : q_.domain.orders(plan.cp, plan.dp, plan.pp)) {
    plan.order = order;
    Ordered one{order};
    if (bounded()) {
      double stages = turns_bound(pipe(plan), whole_microbatches(plan), late_);
      if (odd.folded) {
        // Folded stages join a piece of the front to one of the end: of layers that differ, a fairer share.
        Plan v = plan;
        v.schedule = Schedule::kZbV;
        stages = std::min(stages, turns_bound(pipe(v), whole_microbatches(v), late_));
      }
      if (prune(stages, fewest_bytes_, plan.gpus, plan.gpus, plan.pp, false)) continue;
      if (!weighed && !weigh()) return true;
      double least = one.outside = stages_alone_ ? 0 : least_outside(plan, Schedule::kOneFOneB);
      if (odd.dual && !stages_alone_)
        least = std::min(least, one.outside_dual = least_outside(plan, Schedule::kDualPipe));
      if (odd.folded && !stages_alone_)
        least = std::min(least, one.outside_folded = least_outside(plan, Schedule::kZbV));
      if (prune(stages + least, fewest_bytes_, plan.gpus, plan.gpus, plan.pp, false)) continue;
    }
    orders_.push_back(one);
  }
  if (orders_.empty() || (!weighed && !weigh())) return true;
  for (const Turns& turns : q_.domain.turns(p)) {
    plan.schedule = turns.schedule;
    plan.interleave = turns.interleave;
    if (!sharded(plan)) return false;
  }
  return true;
}

// What goes with these degrees and turns.
bool Walk::sharded(Plan plan) {
  std::vector<Left> left;
  for (const Ordered& ordered : orders_) {
    plan.order = ordered.order;
    Left one{ordered.order};
    if (bounded()) {
      if (folded(plan.schedule) && prune(folded_floor(plan, pipe(plan)) + ordered.of(plan.schedule), fewest_bytes_,
                                         plan.gpus, plan.gpus, plan.pp, false))
        continue;
      one.stages = pipeline_bound(q_.model, plan, pipe(plan), late_);
      if (prune(one.stages + ordered.of(plan.schedule), fewest_bytes_, plan.gpus, plan.gpus, plan.pp, false)) continue;
    }
    left.push_back(one);
  }
  if (left.empty()) return true;
  double least = kNever, turns_bytes = fewest_bytes_;
  for (const Left& one : left) least = std::min(least, one.stages);
  if (bounded() && tails(plan).size() > 1) {
    // The plan still offloads all that it may.
    turns_bytes = std::max(turns_bytes, turns_memory_bound(q_.model, plan));
    if (too_many(turns_bytes)) {
      ++counts_.capacity;
      return true;
    }
    if (bytes_count_ && prune(least, turns_bytes, plan.gpus, plan.gpus, plan.pp, false)) return true;
  }
  const Domain::Tail* before = nullptr;
  for (const Domain::Tail& tail : tails(plan)) {
    tail.set_on(plan);
    const bool same = before != nullptr && before->zero == tail.zero && before->shard == tail.shard;
    before = &tail;
    if (!same) {
      for (Left& one : left) {
        plan.order = one.order;
        Plan plain = plan;
        plain.schedule = bounded_as(plan.schedule);
        plain.interleave = 1;
        one.kept_all = false;
        one.seconds = one.stages;
        one.hopeless = false;
        if (!bounded() || stages_alone_) continue;
        one.seconds += outside(plain);
        one.hopeless = prune(one.seconds, turns_bytes, plan.gpus, plan.gpus, plan.pp, false);
      }
    }
    std::optional<Bytes> bytes;  // of every order
    for (Left& one : left) {
      plan.order = one.order;
      if (!one.hopeless && q_.domain.allowed(plan) && !this->one(plan, one, bytes)) return false;
    }
  }
  return true;
}

bool Walk::one(const Plan& plan, Left& left, std::optional<Bytes>& bytes) {
  if (clock_.spent()) return false;
  if (!bytes) {
    bytes = bytes_of(q_.model, q_.system, plan);
    if (within(q_.limits, *bytes) && !hosts_hold(q_.model, q_.system, plan)) bytes = Bytes{kNever, kNever};
  }
  if (bytes->total == kNever || !within(q_.limits, *bytes)) {
    ++counts_.capacity;
    return true;
  }
  if (prune(left.seconds, bytes->total, plan.gpus, plan.gpus, plan.pp, true)) return true;
  if (bounded() && !left.kept_all && (plan.offload_activations > 0 || plan.offload_optimizer > 0)) {
    Plan plain = plan;
    plain.offload_activations = plain.offload_optimizer = 0;
    left.kept_all = true;
    left.seconds = std::max(left.seconds, evaluate(q_.model, q_.system, plain, q_.operators).iteration_s);
    if (prune(left.seconds, bytes->total, plan.gpus, plan.gpus, plan.pp, true)) return true;
  }
  if (!take(q_, plan, incumbents_, counts_)) {
    ++counts_.limit;
    return true;
  }
  return !q_.options.any;
}

}  // namespace orrery::cluster
