// Chooses the solver: none where the ranges leave nothing to decide, the dynamic programme over ideals, or the MIP;
// beyond both, the best cut of a chain with the simple bound.
#include <algorithm>
#include <cmath>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/dataflow/partition/partition.h"
#include "orrery/engines/dataflow/partition/partition_bound.h"
#include "orrery/engines/dataflow/partition/partition_chain.h"
#include "orrery/engines/dataflow/partition/partition_ideals.h"
#include "orrery/engines/dataflow/partition/partition_mip.h"
#include "orrery/engines/dataflow/partition/partition_space.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

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
PartitionOptimum quick(const PartitionProblem& problem, const PartitionSpace& space, const base::Budget& budget) {
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

// With a second memory: the best of what fits the first and of what takes both. The second slows all traffic, so that
// what fits the first is never cheaper with both, and the least of the two is exact.
PartitionOptimum optimize_over_both_drams(const PartitionProblem& problem, const PartitionLimits& limits) {
  const base::Budget budget(limits);
  PartitionOptimum near = optimize(within_first_dram(problem), limits);
  PartitionLimits rest = limits;
  if (near.assignment && (rest.upper_bound_ns <= 0 || near.cost.sum_interval_ns < rest.upper_bound_ns))
    rest.upper_bound_ns = near.cost.sum_interval_ns;
  if (budget.limited()) rest.seconds = std::max(0.01, budget.seconds_left());
  PartitionOptimum both = optimize(across_both_drams(problem), rest);
  const bool decided = !near.interrupted && !near.gave_way && !both.interrupted && !both.gave_way;
  const auto bound = [](const PartitionOptimum& one, double otherwise) {
    if (one.infeasible) return kNever;
    return one.assignment || one.interrupted || one.gave_way ? one.certificate.lower_bound : otherwise;
  };
  const double least = std::min(bound(near, limits.upper_bound_ns), bound(both, rest.upper_bound_ns));
  PartitionOptimum result =
      both.assignment && (!near.assignment || both.cost.sum_interval_ns < near.cost.sum_interval_ns) ? both : near;
  result.infeasible = near.infeasible && both.infeasible;
  result.interrupted = near.interrupted || both.interrupted;
  result.gave_way = near.gave_way || both.gave_way;
  result.ties_broken = near.ties_broken && both.ties_broken;
  base::Certificate& certificate = result.certificate;
  certificate.evaluated = near.certificate.evaluated + both.certificate.evaluated;
  certificate.space = near.certificate.space;
  certificate.optimal = decided && (result.infeasible || (result.assignment && least >= result.cost.sum_interval_ns));
  if (result.assignment) {
    result.cost = price(problem, *result.assignment);
    certificate.close(result.cost.sum_interval_ns, least);
  } else if (!result.infeasible) {
    certificate.lower_bound = std::isfinite(least) ? least : 0;
  }
  return result;
}

}  // namespace

PartitionOptimum optimize(const PartitionProblem& problem, const PartitionLimits& limits) {
  if (problem.second_dram_bytes > 0) return optimize_over_both_drams(problem, limits);
  const base::Stopwatch watch;
  const base::Budget budget(limits);
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
