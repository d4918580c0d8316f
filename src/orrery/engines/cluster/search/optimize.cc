// Branch and bound over groups of plans.
//
// A group shares what decides a layer's time: batch, tp, cp, ep, microbatch, recomputation, sequence parallelism. One
// evaluation of all its layers on one stage bounds every plan of the group (bounds.h). Groups are gone through in the
// order of their bounds (groups.h), so that the first one whose bound exceeds the best plan found ends the search;
// inside a group choices are made one after the other, with a bound at each (walk.h).
//
// Ties survive every bound, and the order among them is that of the plans, so the answer does not depend on the order
// of the search. Groups are dealt to threads in rounds; within a round each knows the best plan of earlier rounds and
// its own. Rounds are the same for any number of threads, and so are all counts.
#include "orrery/engines/cluster/search/optimize.h"

#include <algorithm>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/cluster/search/groups.h"
#include "orrery/engines/cluster/search/initial_plans.h"
#include "orrery/engines/cluster/search/question.h"
#include "orrery/engines/cluster/search/walk.h"

namespace orrery::cluster {
namespace {

using base::Count;

// A bound of the first metric for every plan there is: computation at the peak of all accelerators.
double least_of_all(const Question& q) {
  double least = kNever;
  const auto most = static_cast<double>(q.domain.space().most_gpus);
  for (const Count batch : q.domain.batches()) {
    const auto sequences = static_cast<double>(batch);
    // Of one accelerator.
    const double work = sequences * peak_seconds(q.model, q.system, q.domain.space().base, q.operators);
    least = std::min(least, bound_of(q, work / most, 0, sequences, 1, most, false).least[0]);
  }
  return least;
}

// Any plan is asked for, and none of the first few is within a limit of time: whether the fastest that they lead to is.
void take_fastest(const Question& q, const base::Budget& budget, Incumbents& incumbents, Counts& counts) {
  PlanLimits limits = q.limits;
  limits.seconds = kNever;
  Objective fastest = q.objective;
  fastest.metrics = {Metric::kTime};
  fastest.front = false;
  const SearchOptions options;
  const Question unhurried{q.model, q.system, q.domain, fastest, limits, q.operators, options, fastest.all()};
  Incumbents found(fastest, Incumbents::Mode::kBest, 1);
  initial_plans(unhurried, budget, found, counts);
  for (const Candidate& one : found.all()) take(q, one.plan, incumbents, counts);
}

Incumbents::Mode mode_of(const Objective& objective, const SearchOptions& options) {
  if (options.cells) return Incumbents::Mode::kCells;
  return objective.front ? Incumbents::Mode::kFront : Incumbents::Mode::kBest;
}

}  // namespace

Optimum optimize(const Model& model, const System& system, const Space& space, const Objective& objective,
                 const PlanLimits& limits, const machine::OperatorModel& operators, const base::Budget& budget,
                 const SearchOptions& options) {
  const base::Stopwatch clock;
  const Domain domain(model, system, space);
  const Question question{model, system, domain, objective, limits, operators, options, objective.all()};
  Optimum result;
  const Incumbents::Mode mode = mode_of(objective, options);
  const std::size_t most = std::max<std::size_t>(1, options.top);
  Incumbents incumbents(objective, mode, most);
  Counts counts, guessed;
  // Building groups looks at the clock as well: what was not bounded one by one is bounded together.
  bool all_groups = options.enumerate || initial_plans(question, budget, incumbents, guessed);
  if (options.any && all_groups && incumbents.all().empty() && limits.seconds < kNever)
    take_fastest(question, budget, incumbents, guessed);
  bool stop = !all_groups || (options.any && !incumbents.all().empty());
  Groups groups(question, budget, options.threads);
  if (!stop) all_groups = groups.find();
  stop = stop || !all_groups;

  std::size_t round = 4;
  double open = kNever;  // least bound of what was not gone through
  while (!stop && groups.left() > 0) {
    const double worst = options.enumerate ? kNever : incumbents.worst_first() * (1 + kRounding);
    bool spent = false;
    const std::vector<Group> taken = groups.next(round, worst, spent);
    if (spent || budget.spent()) {
      stop = true;
      for (const Group& group : taken) open = std::min(open, group.order);
      break;
    }
    if (taken.empty()) break;
    std::vector<Incumbents> own(taken.size(), Incumbents(objective, mode, most));
    std::vector<Counts> own_counts(taken.size());
    std::vector<char> ended(taken.size(), 1);
    base::parallel_for(taken.size(), options.threads, [&](std::size_t i) {
      base::Ticker ticker(budget, kEvery);
      Walk walk(question, taken[i], incumbents, own[i], own_counts[i], ticker);
      ended[i] = walk.run() ? 1 : 0;
    });
    for (std::size_t i = 0; i < own.size(); ++i) {
      incumbents.take(own[i]);
      counts.add(own_counts[i]);
      if (ended[i] != 0) continue;
      stop = true;
      open = std::min(open, taken[i].order);
    }
    round = std::min<std::size_t>(64, 2 * round);
    if (options.progress && groups.left() > 0 && incumbents.full())
      options.progress(incumbents.all().front().score[0], groups.least());
  }
  counts.capacity += groups.unfit();
  if (stop)
    open = std::min(open, groups.least());
  else
    counts.bound += groups.left();
  if (!all_groups) open = least_of_all(question);
  result.finished = all_groups && !stop;
  result.best = incumbents.all();

  base::Certificate& proof = result.certificate;
  if (!options.any) proof.space = domain.count();
  // The search meets the plans that it began with again, or excludes them.
  proof.evaluated = counts.evaluated;
  if (!result.finished || counts.evaluated == 0) proof.evaluated += guessed.evaluated;
  if (proof.space > 0 && static_cast<double>(proof.evaluated) > proof.space)
    proof.evaluated = static_cast<std::uint64_t>(proof.space);
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
