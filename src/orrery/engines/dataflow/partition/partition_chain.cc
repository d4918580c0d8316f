#include "orrery/engines/dataflow/partition/partition_chain.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {
namespace {

constexpr double kSteps = 10'000'000;         // kernels priced; long chains are cut at fewer places instead
constexpr double kStepsOfSecond = 1'000'000;  // under a time limit, of what is left of it

// Kernels in depth-first order: the newest kernel whose producers have all run goes first.
std::vector<int> eager_order(const PartitionProblem& problem, const SetPricer& pricer) {
  const std::size_t kernels = problem.kernels.size();
  std::vector<int> missing(kernels, 0);
  for (const PartitionEdge& edge : problem.edges) ++missing[static_cast<std::size_t>(edge.to)];
  std::vector<int> ready, order;
  for (std::size_t k = kernels; k-- > 0;) {
    if (missing[k] == 0) ready.push_back(static_cast<int>(k));
  }
  while (!ready.empty()) {
    const int k = ready.back();
    ready.pop_back();
    order.push_back(k);
    std::vector<int> released;
    for (const int e : pricer.edges_out_of(k)) {
      const int to = problem.edges[static_cast<std::size_t>(e)].to;
      if (--missing[static_cast<std::size_t>(to)] == 0) released.push_back(to);
    }
    // Those without consumers of their own come first, then lower indices.
    std::sort(released.begin(), released.end(), [&](int a, int b) {
      const bool leaf_a = pricer.edges_out_of(a).empty(), leaf_b = pricer.edges_out_of(b).empty();
      return leaf_a != leaf_b ? leaf_b : a > b;
    });
    ready.insert(ready.end(), released.begin(), released.end());
  }
  return order;
}

// Where a chain of n kernels may be cut: everywhere, as long as pricing all segments, n^3 / 6 steps, stays within
// bounds; else at even distances, and wherever neighbours cannot share a configuration.
std::vector<char> places_to_cut(const PartitionProblem& problem, const PartitionSpace& space,
                                const std::vector<int>& order, const base::Budget& budget) {
  const double steps = std::clamp(budget.seconds_left() * kStepsOfSecond, kStepsOfSecond / 100, kSteps);
  const double kernels = static_cast<double>(order.size());
  const double places = std::sqrt(6 * steps / std::max(1.0, kernels));
  const auto stride = static_cast<std::size_t>(base::saturated(std::max(1.0, std::ceil(kernels / places))));
  std::vector<char> may(order.size() + 1, 0);
  may.front() = may.back() = 1;
  for (std::size_t n = 1; n < order.size(); ++n) {
    const auto a = static_cast<std::size_t>(order[n - 1]), b = static_cast<std::size_t>(order[n]);
    const bool apart = problem.kernels[a].repeat_class != problem.kernels[b].repeat_class ||
                       space.last[a] < space.first[b] || space.last[b] < space.first[a];
    if (n % stride == 0 || apart) may[n] = 1;
  }
  return may;
}

std::optional<std::vector<int>> cut(SetPricer& pricer, const PartitionSpace& space, const std::vector<int>& order,
                                    const base::Budget& budget) {
  const PartitionProblem& problem = pricer.problem();
  const std::size_t kernels = order.size();
  const auto configurations = static_cast<std::size_t>(problem.configurations);
  // best[c][n]: the first n kernels in the configurations before c; from[c][n]: where the last of those began.
  std::vector<std::vector<double>> best(configurations + 1, std::vector<double>(kernels + 1, kNever));
  std::vector<std::vector<std::size_t>> from(configurations + 1, std::vector<std::size_t>(kernels + 1, 0));
  best[0][0] = 0;
  for (std::size_t c = 0; c < configurations; ++c) best[c + 1][0] = 0;
  std::vector<int> members;
  const std::vector<char> may_cut = places_to_cut(problem, space, order, budget);
  for (std::size_t begin = 0; begin < kernels; ++begin) {
    // Prices of the segments that begin here, each once for all configurations.
    std::vector<double> price;
    members.clear();
    double weights = 0;
    int first = 0, last = problem.configurations - 1;  // that all members may run in
    const bool reached = may_cut[begin] != 0 &&
                         std::any_of(best.begin(), best.end(), [&](const auto& row) { return row[begin] < kNever; });
    for (std::size_t n = begin; n < kernels; ++n) {
      const auto k = static_cast<std::size_t>(order[n]);
      const PartitionKernel& kernel = problem.kernels[k];
      if (kernel.repeat_class != problem.kernels[static_cast<std::size_t>(order[begin])].repeat_class) break;
      first = std::max(first, space.first[k]);
      last = std::min(last, space.last[k]);
      if (!reached || first > last) break;
      weights += kernel.weight_bytes + kernel.sram_extra_bytes;
      if (problem.sram_bytes > 0 && n > begin && weights > problem.sram_bytes) break;
      members.insert(std::upper_bound(members.begin(), members.end(), order[n]), order[n]);
      price.push_back(kNever);
      if (may_cut[n + 1] == 0) continue;
      const SetPricer::Price found = pricer.price(members);
      if (found.fits) price.back() = found.interval_ns;
    }
    for (std::size_t c = 0; c < configurations; ++c) {
      // Passing through c without a kernel costs nothing.
      if (best[c][begin] < best[c + 1][begin]) {
        best[c + 1][begin] = best[c][begin];
        from[c + 1][begin] = begin;
      }
      const double base = best[c][begin];
      if (base == kNever) continue;
      for (std::size_t i = 0; i < price.size(); ++i) {
        const auto k = static_cast<std::size_t>(order[begin + i]);
        const int here = static_cast<int>(c);
        if (here < space.first[k] || here > space.last[k]) break;
        const double value = base + price[i];
        if (value < best[c + 1][begin + i + 1]) {
          best[c + 1][begin + i + 1] = value;
          from[c + 1][begin + i + 1] = begin;
        }
      }
    }
  }
  for (std::size_t c = 0; c < configurations; ++c) {
    if (best[c][kernels] < best[c + 1][kernels]) {
      best[c + 1][kernels] = best[c][kernels];
      from[c + 1][kernels] = kernels;
    }
  }
  if (best[configurations][kernels] == kNever) return std::nullopt;
  std::vector<int> assignment(kernels, 0);
  std::size_t n = kernels;
  for (std::size_t c = configurations; c-- > 0;) {
    const std::size_t begin = n == 0 ? 0 : from[c + 1][n];
    for (std::size_t i = begin; i < n; ++i) assignment[static_cast<std::size_t>(order[i])] = static_cast<int>(c);
    n = begin;
  }
  return assignment;
}

}  // namespace

std::optional<std::vector<int>> best_chain(SetPricer& pricer, const PartitionSpace& space, const base::Budget& budget) {
  const PartitionProblem& problem = pricer.problem();
  std::optional<std::vector<int>> best;
  double best_value = kNever;
  const std::vector<int> orders[] = {space.order, eager_order(problem, pricer)};
  for (const std::vector<int>& order : orders) {
    if (best && budget.spent()) break;
    std::optional<std::vector<int>> found = cut(pricer, space, order, budget);
    if (!found) continue;
    const PartitionCost cost = pricer.price_all(*found);
    if (!cost.feasible || cost.sum_interval_ns >= best_value) continue;  // DRAM is only seen here
    best_value = cost.sum_interval_ns;
    best = std::move(found);
  }
  return best;
}

}  // namespace orrery::dataflow
