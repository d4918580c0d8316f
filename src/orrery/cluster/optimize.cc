// Branch and bound over groups of plans.
//
// A group shares what decides a layer's time: batch, tp, cp, ep, microbatch, recomputation, sequence parallelism. One
// evaluation of all its layers on one stage bounds every plan of the group (bounds.h). Groups are gone through in the
// order of their bounds, so that the first one whose bound exceeds the best plan found ends the search. Inside a group:
//
//   stages pp            the share of the group's bound that pp and the largest dp leave; the stages' times, once
//   replicas dp          m times the slowest stage; the fewest bytes that this dp needs
//   order on the network, turns   the pipeline's time with its waits
//   what is sharded      exact bytes, the same in every order; then evaluate(), which alone gives a plan its value
//
// Ties survive every bound, and the order among them is that of the plans, so the answer does not depend on the order
// of the search. Groups are dealt to threads in rounds; within a round each knows the best plan of earlier rounds and
// its own. Rounds are the same for any number of threads, and so are all counts.
//
// Cost: a microsecond a group, 20 ns a (pp, dp), 0.1 us for the bytes of a plan, a microsecond for each that is left.
#include "orrery/cluster/optimize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "orrery/base/parallel.h"
#include "orrery/base/stopwatch.h"
#include "orrery/cluster/first_plans.h"
#include "orrery/cluster/memory.h"
#include "orrery/cluster/question.h"

namespace orrery::cluster {
namespace {

using base::Count;

// So many steps, each some microseconds, are done between looks at the clock.
constexpr std::uint32_t kEvery = 16;

struct Group {
  Plan plan;
  std::size_t batch = 0;  // index
  std::size_t reach = 0;  // of GroupReach
  double whole_s = 0;
  double order = 0;  // bound of the first metric
};

// The plans of one group.
class Walk {
 public:
  // `known`: what was kept before this round.
  Walk(const Question& question, const Group& group, const Kept& known, Kept& kept, Counts& counts, cost::Ticker& clock)
      : q_(question), group_(group), known_(known), kept_(kept), counts_(counts), clock_(clock) {
    bytes_count_ = std::find(q_.metrics.begin(), q_.metrics.end(), Metric::kMemory) != q_.metrics.end();
  }

  // False: the budget was spent, or one plan was enough.
  bool run() {
    for (std::size_t p = 0; p < q_.domain.pp().size(); ++p)
      if (!stages(p)) return false;
    return true;
  }

 private:
  double batch() const { return static_cast<double>(group_.plan.global_batch); }
  bool bounded() const { return !q_.options.enumerate; }

  // Of a bound of the bytes in use.
  bool too_many(double bytes) const { return bytes > std::min(q_.limits.memory, q_.limits.in_use); }

  bool prune(double seconds, double memory, Count least_used, Count most_used, Count pp, bool exact) {
    if (!bounded()) return false;
    const auto least = static_cast<double>(least_used), most = static_cast<double>(most_used);
    const ScoreBound bound = bound_of(q_, seconds, memory, batch(), least, most, exact);
    if (!surely_over(q_, seconds, batch(), least, most) && !known_.hopeless(bound, group_.plan.tp, pp) &&
        !kept_.hopeless(bound, group_.plan.tp, pp))
      return false;
    ++counts_.bound;
    return true;
  }

  bool stages(std::size_t p) {
    if (clock_.spent()) return false;
    Plan plan = group_.plan;
    plan.pp = q_.domain.pp()[p];
    const Count replica = plan.tp * plan.cp * plan.pp;
    const Count most = q_.domain.space().most_gpus;
    if (replica > most || q_.domain.turns(p).empty()) return true;
    const Values& all = q_.domain.dp(group_.batch);
    dps_.clear();
    for (const Count dp : all)
      if (dp <= most / replica && q_.domain.shares(plan.global_batch, dp, plan.micro_batch)) dps_.push_back(dp);
    if (dps_.empty()) return true;
    plan.dp = dps_.back();
    plan.gpus = replica * plan.dp;
    const double seconds = stages_bound(plan);
    if (prune(seconds, 0, replica * dps_.front(), plan.gpus, plan.pp, false)) return true;
    q_.domain.offload_all(plan);
    plan.schedule = least_turns(p);
    if (bounded()) {
      const double bytes = memory_bound(q_.model, plan);
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
  double stages_bound(const Plan& plan) const {
    return whole_microbatches(plan) * group_.whole_s / static_cast<double>(plan.pp);
  }

  // DualPipe hides what no other turns do; all others share the bounds of 1F1B.
  Schedule least_turns(std::size_t p) const {
    for (const Turns& turns : q_.domain.turns(p))
      if (turns.schedule == Schedule::kDualPipe) return turns.schedule;
    return Schedule::kOneFOneB;
  }

  // Plans that differ in nothing that stages know of share their times.
  const Pipeline& pipe(const Plan& plan) {
    const Schedule turns = plan.schedule == Schedule::kGpipe ? Schedule::kOneFOneB : plan.schedule;
    const Count cut = expert_tp(plan);
    const Reach reach = reach_of(q_.system, plan);
    for (const Piped& known : pipes_)
      if (known.turns == turns && known.cut == cut && known.reach == reach) return known.stages;
    return pipes_.emplace_back(Piped{turns, cut, reach, stages_of(q_.model, q_.system, plan, q_.operators)}).stages;
  }

  bool replicas(std::size_t p, Plan plan) {
    if (clock_.spent()) return false;
    plan.schedule = least_turns(p);
    std::optional<double> fewest_bytes;  // which no order changes
    const auto weigh = [&] {
      fewest_bytes = bounded() ? memory_bound(q_.model, plan) : 0;
      if (!too_many(*fewest_bytes)) return true;
      ++counts_.capacity;
      return false;
    };
    if (bounded() && bytes_count_ &&
        (!weigh() || prune(stages_bound(plan), *fewest_bytes, plan.gpus, plan.gpus, plan.pp, false)))
      return true;
    Orders orders;
    for (const Order order : q_.domain.orders(plan.cp, plan.dp, plan.pp)) {
      plan.order = order;
      if (bounded() && prune(turns_bound(pipe(plan), whole_microbatches(plan)), fewest_bytes.value_or(0), plan.gpus,
                             plan.gpus, plan.pp, false))
        continue;
      orders.all[static_cast<std::size_t>(orders.count++)] = order;
    }
    if (orders.count == 0 || (!fewest_bytes && !weigh())) return true;
    const std::vector<Domain::Tail> tails = q_.domain.tails(plan.tp, plan.dp * plan.cp);
    for (const Turns& turns : q_.domain.turns(p)) {
      plan.schedule = turns.schedule;
      plan.interleave = turns.interleave;
      if (!sharded(plan, orders, *fewest_bytes, tails)) return false;
    }
    return true;
  }

  // What goes with these degrees and turns.
  bool sharded(Plan plan, const Orders& orders, double fewest_bytes, const std::vector<Domain::Tail>& tails) {
    Orders left;
    std::array<double, 6> seconds = {};
    for (const Order order : orders) {
      plan.order = order;
      const double least = bounded() ? pipeline_bound(q_.model, plan, pipe(plan)) : 0;
      if (prune(least, fewest_bytes, plan.gpus, plan.gpus, plan.pp, false)) continue;
      seconds[static_cast<std::size_t>(left.count)] = least;
      left.all[static_cast<std::size_t>(left.count++)] = order;
    }
    if (left.count == 0) return true;
    if (bounded() && tails.size() > 1 && too_many(turns_memory_bound(q_.model, plan))) {
      ++counts_.capacity;
      return true;
    }
    for (const Domain::Tail& tail : tails) {
      tail.set_on(plan);
      std::optional<Bytes> bytes;  // of every order
      for (int i = 0; i < left.count; ++i) {
        plan.order = left.all[static_cast<std::size_t>(i)];
        if (q_.domain.allowed(plan) && !one(plan, seconds[static_cast<std::size_t>(i)], bytes)) return false;
      }
    }
    return true;
  }

  bool one(const Plan& plan, double seconds, std::optional<Bytes>& bytes) {
    if (clock_.spent()) return false;
    if (!bytes) {
      bytes = bytes_of(q_.model, q_.system, plan);
      constexpr double kTooMany = std::numeric_limits<double>::infinity();
      if (within(q_.limits, *bytes) && !hosts_hold(q_.model, q_.system, plan)) bytes = Bytes{kTooMany, kTooMany};
    }
    if (bytes->total == std::numeric_limits<double>::infinity() || !within(q_.limits, *bytes)) {
      ++counts_.capacity;
      return true;
    }
    if (prune(seconds, bytes->total, plan.gpus, plan.gpus, plan.pp, true)) return true;
    if (!take(q_, plan, kept_, counts_)) {
      ++counts_.limit;
      return true;
    }
    return !q_.options.any;
  }

  const Question& q_;
  const Group& group_;
  const Kept& known_;
  Kept& kept_;
  Counts& counts_;
  cost::Ticker& clock_;
  bool bytes_count_ = false;  // in the objective
  Values dps_;
  struct Piped {
    Schedule turns = Schedule::kOneFOneB;
    Count cut = 0;  // tensor ranks of an expert
    Reach reach;
    Pipeline stages;
  };
  std::vector<Piped> pipes_;  // of the stages that are looked at
};

// Whether any plan of the group can be possible: asked with one stage, and the fewest replicas that hold the experts.
bool may_be(const Question& q, const Group& group) {
  Plan plan = group.plan;
  plan.pp = plan.interleave = 1;
  plan.schedule = Schedule::kOneFOneB;
  plan.zero = 0;
  plan.shard = 0;
  plan.offload_activations = plan.offload_optimizer = 0;
  plan.order = Order::kCpDpPp;
  for (Count dp = 1; dp <= plan.ep; ++dp) {
    if (plan.ep % dp != 0) continue;
    plan.dp = dp;
    plan.gpus = plan.tp * plan.cp * dp;
    plan.global_batch = dp * plan.micro_batch;
    if (q.domain.allowed(plan)) return true;
  }
  return false;
}

// Where the ranks of a layer can be, of groups that share their degrees.
struct GroupReach {
  Reaches cut, whole;
};

GroupReach reach_of_group(const Question& q, const Plan& plan, const std::vector<Order>& orders, const Values& dps) {
  const Domain& domain = q.domain;
  const auto of = [&](Count expert_tp) {
    return reaches(q.system, plan, expert_tp, orders, domain.pp(), dps, domain.space().most_gpus);
  };
  if (plan.expert_tp > 0 || plan.tp == 1 || !q.model.mixes()) return {of(plan.expert_tp), {}};
  return {of(plan.tp), of(1)};
}

// Without `finished`, which says that the budget was spent, none.
std::vector<Group> groups_of(const Question& q, const cost::Budget& budget, int threads, bool& finished) {
  std::vector<Group> groups;
  cost::Ticker clock(budget, kEvery);
  finished = false;
  const Domain& domain = q.domain;
  const Count most = domain.space().most_gpus;
  const Plan first = domain.first();
  std::vector<Order> orders;
  for (const Count order : domain.orders()) orders.push_back(static_cast<Order>(order));
  std::vector<GroupReach> reach;
  std::map<std::array<Count, 5>, std::size_t> known;  // in `reach`, by batch and degrees
  for (std::size_t b = 0; b < domain.batches().size(); ++b)
    for (const Count tp : domain.tp())
      for (const Count cp : domain.cp()) {
        if (tp * cp > most) continue;
        for (const Count ep : domain.ep())
          for (const Count micro : domain.micro_batches(b)) {
            if (!domain.shares(domain.batches()[b], 1, micro)) continue;
            for (const Count expert : domain.expert_tp(tp))
              for (const Count recompute : domain.recompute())
                for (const Count parallel : domain.sequence_parallel(tp)) {
                  Group group{first, b};
                  group.plan.expert_tp = expert;
                  group.plan.global_batch = domain.batches()[b];
                  group.plan.tp = tp, group.plan.cp = cp, group.plan.ep = ep, group.plan.micro_batch = micro;
                  group.plan.recompute = static_cast<Recompute>(recompute);
                  group.plan.sequence_parallel = parallel != 0;
                  const auto [at, made] = known.try_emplace({static_cast<Count>(b), tp, cp, ep, expert}, reach.size());
                  if (clock.spent()) return {};
                  if (made) reach.push_back(reach_of_group(q, group.plan, orders, domain.dp(b)));
                  group.reach = at->second;
                  groups.push_back(group);
                }
          }
      }
  constexpr std::size_t kTask = 256;
  std::vector<char> kept(groups.size(), 0);
  const std::size_t tasks = (groups.size() + kTask - 1) / kTask;
  std::vector<char> ended(tasks, 1);
  base::parallel_for(tasks, threads, [&](std::size_t task) {
    cost::Ticker ticker(budget, kEvery);
    for (std::size_t i = task * kTask; i < std::min(groups.size(), (task + 1) * kTask); ++i) {
      Group& group = groups[i];
      if (ticker.spent()) {
        ended[task] = 0;
        return;
      }
      if (!may_be(q, group)) continue;
      kept[i] = 1;
      for (std::size_t p = 0; p < q.domain.pp().size(); ++p)
        for (const Turns& turns : q.domain.turns(p))
          if (turns.schedule == Schedule::kDualPipe) group.plan.schedule = turns.schedule;
      const GroupReach& where = reach[group.reach];
      group.whole_s = whole_seconds(q.model, q.system, group.plan, q.operators, where.cut, where.whole);
      const Plan& plan = group.plan;
      const Count share = plan.tp * plan.cp;
      const Count busy = most / share;  // stages and replicas
      const auto batch = static_cast<double>(plan.global_batch);
      const double seconds = batch / static_cast<double>(plan.micro_batch) * group.whole_s / static_cast<double>(busy);
      group.order =
          bound_of(q, seconds, 0, batch, static_cast<double>(share), static_cast<double>(share * busy), false).least[0];
    }
  });
  finished = std::all_of(ended.begin(), ended.end(), [](char each) { return each != 0; });
  if (!finished) return {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (kept[i] != 0) groups[count++] = groups[i];
  groups.resize(count);
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.order < b.order; });
  return groups;
}

// A bound of the first metric for every plan there is: computation at the peak of all accelerators.
double least_of_all(const Question& q) {
  double least = std::numeric_limits<double>::infinity();
  const auto most = static_cast<double>(q.domain.space().most_gpus);
  for (const Count batch : q.domain.batches()) {
    const auto sequences = static_cast<double>(batch);
    const double work = sequences * peak_seconds(q.model, q.system, q.domain.space().base, q.operators);  // of one accelerator
    least = std::min(least, bound_of(q, work / most, 0, sequences, 1, most, false).least[0]);
  }
  return least;
}

Kept::Mode mode_of(const Objective& objective, const SearchOptions& options) {
  if (options.cells) return Kept::Mode::kCells;
  return objective.front ? Kept::Mode::kFront : Kept::Mode::kBest;
}

}  // namespace

Optimum optimize(const Model& model, const System& system, const Space& space, const Objective& objective,
                 const PlanLimits& limits, const machine::OperatorModel& operators, const cost::Budget& budget,
                 const SearchOptions& options) {
  const base::Stopwatch clock;
  const Domain domain(model, system, space);
  const Question question{model, system, domain, objective, limits, operators, options, objective.all()};
  Optimum result;
  const Kept::Mode mode = mode_of(objective, options);
  const std::size_t most = std::max<std::size_t>(1, options.top);
  Kept kept(objective, mode, most);
  Counts counts;
  // Building groups looks at the clock as well: what was not bounded one by one is bounded together.
  bool all_groups = options.enumerate || first_plans(question, budget, kept, counts);
  bool stop = !all_groups || (options.any && !kept.all().empty());
  std::vector<Group> groups;
  if (!stop) groups = groups_of(question, budget, options.threads, all_groups);
  stop = stop || !all_groups;

  std::size_t next = 0, round = 4;
  double open = std::numeric_limits<double>::infinity();  // least bound of what was not gone through
  while (next < groups.size() && !stop) {
    if (!options.enumerate && groups[next].order > kept.worst_first() * (1 + 1e-12)) {
      counts.bound += groups.size() - next;
      break;
    }
    if (budget.spent()) {
      stop = true;
      break;
    }
    const std::size_t last = std::min(groups.size(), next + round);
    std::vector<Kept> own(last - next, Kept(objective, mode, most));
    std::vector<Counts> own_counts(last - next);
    std::vector<char> ended(last - next, 1);
    base::parallel_for(last - next, options.threads, [&](std::size_t i) {
      cost::Ticker ticker(budget, kEvery);
      Walk walk(question, groups[next + i], kept, own[i], own_counts[i], ticker);
      ended[i] = walk.run() ? 1 : 0;
    });
    for (std::size_t i = 0; i < own.size(); ++i) {
      kept.take(own[i]);
      counts.add(own_counts[i]);
      if (ended[i] != 0) continue;
      stop = true;
      open = std::min(open, groups[next + i].order);
    }
    next = last;
    round = std::min<std::size_t>(64, 2 * round);
    if (options.progress && next < groups.size() && kept.full())
      options.progress(kept.all().front().score[0], groups[next].order);
  }
  if (stop && next < groups.size()) open = std::min(open, groups[next].order);
  if (!all_groups) open = least_of_all(question);
  result.finished = all_groups && !stop;
  result.best = kept.all();

  cost::Certificate& proof = result.certificate;
  if (!options.any) proof.space = domain.count();
  proof.evaluated = counts.evaluated;
  proof.pruned = {{"bound", counts.bound}, {"capacity", counts.capacity}, {"limit", counts.limit}};
  proof.optimal = result.finished;
  if (result.best.empty()) {
    if (result.finished) proof.close_empty();
  } else {
    proof.close(result.best.front().score[0], std::min(open, result.best.front().score[0]));
  }
  proof.seconds = clock.seconds();
  return result;
}

}  // namespace orrery::cluster
