#include "orrery/runtime/tuning/selection/factor_conflict.h"

#include <algorithm>
#include <optional>
#include <set>

#include "orrery/base/limits/conflict.h"
#include "orrery/runtime/tuning/selection/consistency.h"

namespace orrery::tuning {
namespace {

class Asker {
 public:
  // What only one factor sees cannot make it disagree: rows are reduced to variables that others have, too.
  Asker(const FactorGraph& graph, const base::Budget& budget) : budget_(budget) {
    graph_.domains = graph.domains;
    std::vector<int> uses(graph.domains.size());
    for (const Factor& factor : graph.factors)
      for (const int v : factor.variables) ++uses[static_cast<std::size_t>(v)];
    for (const Factor& factor : graph.factors) {
      Factor kept{factor.name, {}, {}, {}};
      std::vector<std::size_t> columns;
      for (std::size_t i = 0; i < factor.variables.size(); ++i)
        if (uses[static_cast<std::size_t>(factor.variables[i])] > 1) {
          columns.push_back(i);
          kept.variables.push_back(factor.variables[i]);
        }
      std::set<std::vector<std::uint16_t>> seen;
      std::vector<std::uint16_t> row(columns.size());
      for (std::size_t r = 0; r < factor.rows(); ++r) {
        for (std::size_t i = 0; i < columns.size(); ++i) row[i] = factor.row(r)[columns[i]];
        if (!seen.insert(row).second) continue;
        kept.values.insert(kept.values.end(), row.begin(), row.end());
        kept.costs.push_back(0);
      }
      graph_.factors.push_back(std::move(kept));
    }
  }

  // Nothing where the budget ended first.
  std::optional<bool> disagree(const std::vector<int>& which) const {
    if (budget_.spent()) return std::nullopt;
    FactorGraph part{graph_.domains, {}};
    for (const int f : which) part.factors.push_back(graph_.factors[static_cast<std::size_t>(f)]);
    const Minimum found = minimize(part, budget_);
    if (!found.infeasible && !found.found) return std::nullopt;
    return found.infeasible;
  }

  std::vector<int> neighbours(const std::vector<int>& set) const {
    std::vector<int> out;
    for (std::size_t f = 0; f < graph_.factors.size(); ++f) {
      if (std::find(set.begin(), set.end(), static_cast<int>(f)) != set.end()) continue;
      const bool near = std::any_of(set.begin(), set.end(), [&](int other) {
        const std::vector<int>& vars = graph_.factors[static_cast<std::size_t>(other)].variables;
        return std::any_of(vars.begin(), vars.end(), [&](int v) {
          const std::vector<int>& mine = graph_.factors[f].variables;
          return std::find(mine.begin(), mine.end(), v) != mine.end();
        });
      });
      if (near) out.push_back(static_cast<int>(f));
    }
    return out;
  }

 private:
  FactorGraph graph_;
  const base::Budget& budget_;
};

}  // namespace

Conflict smallest_conflict(const FactorGraph& graph, const base::Budget& budget) {
  for (std::size_t f = 0; f < graph.factors.size(); ++f)
    if (graph.factors[f].rows() == 0) return {{static_cast<int>(f)}, true};
  const Asker asker(graph, budget);
  const auto [needed, proven] = base::irreducible_conflict(graph.factors.size(), [&](const base::ConditionSet& set) {
    std::vector<int> which;
    for (std::size_t f = 0; f < set.size(); ++f)
      if (set[f]) which.push_back(static_cast<int>(f));
    return asker.disagree(which);
  });
  if (!proven) return {};
  std::vector<int> kept;
  for (std::size_t f = 0; f < needed.size(); ++f)
    if (needed[f]) kept.push_back(static_cast<int>(f));
  int asked = 0;
  std::set<std::vector<int>> level;
  for (std::size_t f = 0; f < graph.factors.size(); ++f) level.insert({static_cast<int>(f)});
  for (std::size_t size = 2; size < kept.size(); ++size) {
    std::set<std::vector<int>> next;
    for (const std::vector<int>& set : level)
      for (const int f : asker.neighbours(set)) {
        std::vector<int> larger = set;
        larger.insert(std::upper_bound(larger.begin(), larger.end(), f), f);
        if (!next.insert(larger).second) continue;
        if (++asked > kMostSubsets) return {kept, false};
        const std::optional<bool> disagree = asker.disagree(larger);
        if (!disagree) return {kept, false};
        if (*disagree) return {larger, true};
      }
    level = std::move(next);
  }
  return {kept, true};
}

}  // namespace orrery::tuning
