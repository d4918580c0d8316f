#include "orrery/runtime/tuning/selection/factor_graph.h"

#include <algorithm>
#include <limits>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/tuning/selection/consistency.h"
#include "orrery/runtime/tuning/selection/elimination.h"
#include "orrery/runtime/tuning/selection/first_choice.h"

namespace orrery::tuning {
namespace {

constexpr double kBytesACell = 8 * 4;    // of a hashed table at its emptiest; dense ones take 8
constexpr double kFirstCells = 1 << 12;  // of a bucket in the first, quick pass
constexpr std::uint64_t kFirstNodes = 1 << 16;

// Depth first, the last eliminated variable first, values by their bound. The bound of a partial choice is what its
// factors cost plus what the buckets of the variables still open say about it.
class Descent {
 public:
  Descent(const FactorGraph& graph, const Plan& plan, const Buckets& buckets, const base::Budget& budget,
          std::uint64_t most_nodes, Minimum& best)
      : graph_(graph), plan_(plan), buckets_(buckets), ticker_(budget, 64), most_(most_nodes), best_(best) {
    values_.resize(graph.domains.size());
  }
  // True where it went through everything, so that the best is the optimum.
  bool run() {
    go(plan_.order.size(), buckets_.bound);
    return !ended_;
  }

 private:
  // `bound` is of the values that were given to the variables behind `step`, the variables before it being open.
  void go(std::size_t step, base::Count bound) {
    if (step == 0) {
      best_.found = true;
      best_.cost = bound;
      best_.values = values_;
      return;
    }
    --step;
    const auto x = static_cast<std::size_t>(plan_.order[step]);
    // What the bucket's messages said, for the variables behind, now is said by its tables.
    base::Count outside = bound;
    for (const Plan::Part& part : plan_.parts[step])
      outside -= table(part.message).at(table(part.message).index(values_));
    values_[x] = 0;
    std::vector<std::pair<base::Count, int>> open;
    std::vector<std::uint64_t> at, along;
    std::vector<const Table*> tables;
    for (const Plan::Part& part : plan_.parts[step])
      for (const int t : part.tables) {
        tables.push_back(&table(t));
        at.push_back(tables.back()->index(values_));
        along.push_back(tables.back()->stride_of(plan_.order[step]));
      }
    for (int v = 0; v < graph_.domains[x]; ++v) {
      base::Count sum = outside;
      for (std::size_t t = 0; t < tables.size() && sum < kForbidden; ++t)
        sum += tables[t]->at(at[t] + along[t] * static_cast<std::uint64_t>(v));
      if (sum < kForbidden) open.emplace_back(sum, v);
    }
    std::sort(open.begin(), open.end());
    for (const auto& [least, v] : open) {
      if (ended_ || (best_.found && least >= best_.cost)) return;
      if (++best_.nodes > most_ || ticker_.spent()) {
        ended_ = true;
        return;
      }
      values_[x] = v;
      go(step, least);
    }
  }
  const Table& table(int t) const { return buckets_.tables[static_cast<std::size_t>(t)]; }

  const FactorGraph& graph_;
  const Plan& plan_;
  const Buckets& buckets_;
  base::Ticker ticker_;
  std::uint64_t most_;
  Minimum& best_;
  std::vector<int> values_;
  bool ended_ = false;
};

// Each factor at its cheapest.
base::Count sum_of_least(const FactorGraph& graph) {
  base::Count out = 0;
  for (const Factor& factor : graph.factors)
    if (factor.rows() > 0) out += *std::min_element(factor.costs.begin(), factor.costs.end());
  return out;
}

// Rounds with ever larger buckets, until none is split, the search is through, or limits end it.
void search(const FactorGraph& graph, const base::Budget& budget, Minimum& best) {
  double limit = kFirstCells;
  double bytes_of_factors = 0;
  for (const Factor& factor : graph.factors) bytes_of_factors += kBytesACell * static_cast<double>(factor.rows());
  const auto fits = [&](const Plan& plan) { return budget.has_room(bytes_of_factors + kBytesACell * plan.cells); };
  for (bool last = false; !last;) {
    Plan plan = plan_elimination(graph, limit);
    if (!plan.exact && limit > kFirstCells) {
      const Plan whole = plan_elimination(graph, std::numeric_limits<double>::infinity());
      if (fits(whole)) {
        plan = whole;
      } else {  // the largest buckets that fit, and then the search has all the time that is left
        for (double more = limit * 4; more < whole.cells; more *= 4) {
          Plan larger = plan_elimination(graph, more);
          if (!fits(larger)) break;
          plan = std::move(larger);
        }
        last = true;
      }
    }
    const Buckets buckets = eliminate(graph, plan, budget);
    if (!buckets.finished) return;
    best.exact = plan.exact;
    best.width = plan.width;
    best.cells = plan.cells;
    if (buckets.bound >= kForbidden) {
      best.infeasible = true;
      return;
    }
    best.bound = std::max(best.bound, buckets.bound);
    const bool through =
        Descent(graph, plan, buckets, budget, last || plan.exact ? UINT64_MAX : kFirstNodes, best).run();
    if (through) {
      best.infeasible = !best.found;
      if (best.found) best.bound = best.cost;
    }
    if (through || budget.spent()) return;
    if (best.found && best.bound == best.cost) return;
    limit *= 64;
  }
}

}  // namespace

bool FactorGraph::sums_fit() const {
  base::Count sum = 0;
  for (const Factor& factor : factors) {
    if (factor.costs.empty()) continue;
    const base::Count most = *std::max_element(factor.costs.begin(), factor.costs.end());
    if (most >= kMostCost - sum) return false;
    sum += most;
  }
  return true;
}

namespace {

Minimum searched(const FactorGraph& graph, const base::Budget& budget) {
  Minimum out;
  out.bound = sum_of_least(graph);
  FactorGraph rest = graph;
  std::vector<Reduced> meaning;
  const Consistency made = reduce(rest, meaning, budget);
  if (made == Consistency::kStopped) return out;
  if (made == Consistency::kEmpty) {
    out.infeasible = true;
    return out;
  }
  out.choices = 1;
  std::vector<char> counted(graph.domains.size());
  for (const Reduced& one : meaning)
    if (one.variable >= 0 && !counted[static_cast<std::size_t>(one.variable)]) {
      counted[static_cast<std::size_t>(one.variable)] = 1;
      out.choices *= static_cast<double>(one.values.size());
    }
  // Variables that are merged or fixed stay in the numbering with one value, in no factor's scope.
  for (std::size_t v = 0; v < rest.domains.size(); ++v)
    if (!counted[v]) rest.domains[v] = 1;
  out.bound = std::max(out.bound, sum_of_least(rest));
  search(rest, budget, out);
  if (!out.found) return out;
  std::vector<int> values(graph.domains.size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    const Reduced& one = meaning[v];
    values[v] =
        one.values[one.variable < 0 ? 0 : static_cast<std::size_t>(out.values[static_cast<std::size_t>(one.variable)])];
  }
  out.values = std::move(values);
  return out;
}

}  // namespace

Minimum minimize(const FactorGraph& graph, const base::Budget& budget) {
  ORRERY_CHECK(graph.sums_fit(), "costs are added without overflow");
  Minimum out = searched(graph, budget);
  if (out.found || out.infeasible) return out;
  FirstChoice first = first_choice(graph);
  out.bound = std::max(out.bound, first.bound);
  out.found = first.found;
  out.infeasible = first.infeasible;
  if (!first.found) return out;
  out.cost = price(graph, first.values).cost;
  out.values = std::move(first.values);
  return out;
}

Priced price(const FactorGraph& graph, const std::vector<int>& values) {
  Priced out{true, 0, {}};
  for (const Factor& factor : graph.factors) {
    std::int64_t least = -1;
    const std::size_t width = factor.variables.size();
    for (std::size_t r = 0; r < factor.rows(); ++r) {
      bool same = true;
      for (std::size_t i = 0; i < width && same; ++i)
        same = factor.row(r)[i] == values[static_cast<std::size_t>(factor.variables[i])];
      if (same && (least < 0 || factor.costs[r] < factor.costs[static_cast<std::size_t>(least)]))
        least = static_cast<std::int64_t>(r);
    }
    out.rows.push_back(least);
    out.allowed = out.allowed && least >= 0;
    if (least >= 0) out.cost += factor.costs[static_cast<std::size_t>(least)];
  }
  return out;
}

}  // namespace orrery::tuning
