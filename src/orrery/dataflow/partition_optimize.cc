// Chooses the solver: none where the ranges leave nothing to decide, the dynamic programme over ideals, or the MIP;
// beyond both, the best cut of a chain with the simple bound.
#include <algorithm>

#include "orrery/base/stopwatch.h"
#include "orrery/dataflow/partition.h"
#include "orrery/dataflow/partition_bound.h"
#include "orrery/dataflow/partition_chain.h"
#include "orrery/dataflow/partition_ideals.h"
#include "orrery/dataflow/partition_mip.h"
#include "orrery/dataflow/partition_space.h"

namespace orrery::dataflow {
namespace {

PartitionOptimum nothing_fits(PartitionOptimum result) {
  result.infeasible = true;
  result.certificate.close_empty();
  return result;
}

PartitionOptimum fixed(const PartitionProblem& problem, const PartitionSpace& space, double upper_bound_ns) {
  PartitionOptimum result;
  result.method = "fixed";
  result.certificate.space = result.certificate.evaluated = 1;
  result.cost = price(problem, space.first);
  if (!result.cost.feasible) return nothing_fits(std::move(result));
  result.certificate.lower_bound = result.cost.sum_interval_ns;
  if (upper_bound_ns > 0 && result.cost.sum_interval_ns >= upper_bound_ns) return result;
  result.assignment = space.first;
  result.certificate.optimal = true;
  result.certificate.close(result.cost.sum_interval_ns, result.cost.sum_interval_ns);
  return result;
}

// The best cut of a chain and the simple bound: the answer without a search.
PartitionOptimum quick(const PartitionProblem& problem, const PartitionSpace& space, const cost::Budget& budget) {
  PartitionOptimum result;
  result.method = "order ideals";
  const double bound = result.certificate.lower_bound = interval_bound(problem, space);
  SetPricer pricer(problem);
  const auto chain = best_chain(pricer, space, budget);
  if (!chain) return result;
  result.assignment = *chain;
  result.cost = price(problem, *chain);
  result.certificate.close(result.cost.sum_interval_ns, bound);
  return result;
}

}  // namespace

PartitionOptimum optimize(const PartitionProblem& problem, const PartitionLimits& limits) {
  const base::Stopwatch watch;
  const cost::Budget budget(limits);
  PartitionSpace space = partition_space(problem);
  PartitionOptimum result;
  if (space.empty) {
    result.method = "fixed";
    result = nothing_fits(std::move(result));
  } else if (space.decided) {
    result = fixed(problem, space, limits.upper_bound_ns);
  } else {
    std::optional<PartitionOptimum> found = optimize_by_ideals(problem, space, limits);
    if (found) {
      result = std::move(*found);
    } else if (!limits.mip || !problem.tilings.empty()) {
      result = quick(problem, space, budget);
      result.gave_way = true;
    } else if (!within_reach_of_mip(problem, space)) {
      result = quick(problem, space, budget);
      result.interrupted = true;
    } else {
      SetPricer pricer(problem);
      PartitionLimits rest = limits;
      const auto chain = best_chain(pricer, space, budget);
      if (budget.limited()) rest.seconds = std::max(0.01, budget.seconds_left());
      result = optimize_by_mip(problem, space, rest, chain);
    }
  }
  result.certificate.seconds = watch.seconds();
  return result;
}

}  // namespace orrery::dataflow
