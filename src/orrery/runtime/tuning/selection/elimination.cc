#include "orrery/runtime/tuning/selection/elimination.h"

#include <algorithm>
#include <numeric>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

double choices(const std::vector<int>& domains, const std::vector<int>& scope) {
  double out = 1;
  for (const int v : scope) out *= domains[static_cast<std::size_t>(v)];
  return out;
}

bool has(const std::vector<int>& scope, int variable) {
  return std::find(scope.begin(), scope.end(), variable) != scope.end();
}

// --- orders ----------------------------------------------------------------------------------------------------------

enum class Greed { kFill, kSize, kWeightedFill };

// The variable whose elimination looks cheapest goes first: by the pairs of neighbours that it joins, by the table that
// it makes, or by the pairs weighed with their domains.
std::vector<int> greedy_order(const FactorGraph& graph, Greed greed) {
  const std::size_t n = graph.domains.size();
  std::vector<std::vector<char>> joined(n, std::vector<char>(n));
  for (const Factor& factor : graph.factors)
    for (const int a : factor.variables)
      for (const int b : factor.variables)
        if (a != b) joined[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)] = 1;
  std::vector<char> gone(n, 1);  // what no factor has needs no bucket
  std::size_t left = 0;
  for (const Factor& factor : graph.factors)
    for (const int v : factor.variables) {
      left += static_cast<std::size_t>(gone[static_cast<std::size_t>(v)]);
      gone[static_cast<std::size_t>(v)] = 0;
    }
  std::vector<int> order;
  while (order.size() < left) {
    std::size_t best = n;
    std::pair<double, double> least;
    for (std::size_t v = 0; v < n; ++v) {
      if (gone[v]) continue;
      std::vector<std::size_t> near;
      double size = graph.domains[v];
      for (std::size_t u = 0; u < n; ++u)
        if (!gone[u] && joined[v][u]) {
          near.push_back(u);
          size *= graph.domains[u];
        }
      double fill = 0, weighted = 0;
      for (const std::size_t a : near)
        for (const std::size_t b : near)
          if (a < b && !joined[a][b]) {
            fill += 1;
            weighted += static_cast<double>(graph.domains[a]) * graph.domains[b];
          }
      const std::pair<double, double> cost = greed == Greed::kSize   ? std::pair(size, fill)
                                             : greed == Greed::kFill ? std::pair(fill, size)
                                                                     : std::pair(weighted, size);
      if (best == n || cost < least) {
        best = v;
        least = cost;
      }
    }
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n && !gone[a] && joined[best][a]; ++b)
        if (a != b && !gone[b] && joined[best][b]) joined[a][b] = 1;
    gone[best] = 1;
    order.push_back(static_cast<int>(best));
  }
  return order;
}

// --- plans -----------------------------------------------------------------------------------------------------------

struct Sketch {
  std::vector<int> scope;
  double entries = 0;
};

std::vector<int> united(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> out = a;
  for (const int v : b)
    if (!has(out, v)) out.push_back(v);
  return out;
}

// At most so many choices of `scope` have a row: those of its sparsest table with any values of the others.
double most_entries(const std::vector<int>& domains, const std::vector<int>& scope, const std::vector<Sketch>& tables,
                    const std::vector<int>& which) {
  const double all = choices(domains, scope);
  double out = all;
  for (const int t : which) {
    const Sketch& one = tables[static_cast<std::size_t>(t)];
    out = std::min(out, one.entries * (all / choices(domains, one.scope)));
  }
  return out;
}

Plan plan_along(const FactorGraph& graph, std::vector<int> order, double most_cells) {
  Plan plan;
  plan.order = std::move(order);
  std::vector<Sketch> tables;
  for (const Factor& factor : graph.factors) tables.push_back({factor.variables, static_cast<double>(factor.rows())});
  std::vector<char> used(tables.size());
  for (const int x : plan.order) {
    std::vector<int> bucket;
    for (std::size_t t = 0; t < tables.size(); ++t)
      if (!used[t] && has(tables[t].scope, x)) bucket.push_back(static_cast<int>(t));
    // The largest first, so that small ones find room beside them.
    std::stable_sort(bucket.begin(), bucket.end(), [&](int a, int b) {
      return tables[static_cast<std::size_t>(a)].scope.size() > tables[static_cast<std::size_t>(b)].scope.size();
    });
    std::vector<Plan::Part> parts;
    std::vector<std::vector<int>> scopes;
    for (const int t : bucket) {
      const Sketch& table = tables[static_cast<std::size_t>(t)];
      used[static_cast<std::size_t>(t)] = 1;
      std::size_t home = parts.size();
      for (std::size_t p = 0; p < parts.size() && home == parts.size(); ++p) {
        std::vector<int> with = parts[p].tables;
        with.push_back(t);
        if (most_entries(graph.domains, united(scopes[p], table.scope), tables, with) <= most_cells) home = p;
      }
      if (home == parts.size()) {
        parts.emplace_back();
        scopes.emplace_back();
      }
      parts[home].tables.push_back(t);
      scopes[home] = united(scopes[home], table.scope);
    }
    if (parts.size() > 1) plan.exact = false;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Plan::Part& part = parts[p];
      const double worked = most_entries(graph.domains, scopes[p], tables, part.tables);
      for (const int v : plan.order)  // in one order, whatever the factors' own
        if (v != x && has(scopes[p], v)) part.scope.push_back(v);
      part.entries = std::min(choices(graph.domains, part.scope), worked);
      part.message = static_cast<int>(tables.size());
      plan.width = std::max(plan.width, static_cast<int>(part.scope.size()));
      plan.cells += part.entries;
      plan.steps += worked * static_cast<double>(part.tables.size());
      tables.push_back({part.scope, part.entries});
      used.push_back(part.scope.empty());
    }
    plan.parts.push_back(std::move(parts));
  }
  return plan;
}

// --- messages --------------------------------------------------------------------------------------------------------

// Counts through the values of some variables and keeps the index of every table up to date.
class Odometer {
 public:
  Odometer(const std::vector<int>& domains, std::vector<int> wheels, const std::vector<const Table*>& tables)
      : wheels_(std::move(wheels)), values_(wheels_.size()), steps_(wheels_.size() * tables.size()) {
    for (std::size_t w = 0; w < wheels_.size(); ++w) {
      sizes_.push_back(domains[static_cast<std::size_t>(wheels_[w])]);
      for (std::size_t t = 0; t < tables.size(); ++t) steps_[w * tables.size() + t] = tables[t]->stride_of(wheels_[w]);
    }
  }
  // False after the last; everything is then as at the first again.
  bool next(std::vector<std::uint64_t>& indices) {
    const std::size_t count = indices.size();
    for (std::size_t w = 0; w < wheels_.size(); ++w) {
      const std::uint64_t* step = steps_.data() + w * count;
      if (++values_[w] < sizes_[w]) {
        for (std::size_t t = 0; t < count; ++t) indices[t] += step[t];
        return true;
      }
      const auto back = static_cast<std::uint64_t>(sizes_[w] - 1);
      for (std::size_t t = 0; t < count; ++t) indices[t] -= back * step[t];
      values_[w] = 0;
    }
    return false;
  }

 private:
  std::vector<int> wheels_, sizes_, values_;
  std::vector<std::uint64_t> steps_;
};

// Adds up `parts` and takes the least over `x`, into `out`. False where the budget ended it.
bool combine(const std::vector<int>& domains, const std::vector<const Table*>& parts, int x, Table& out,
             const base::Budget& budget) {
  base::Ticker ticker(budget, 1 << 12);
  std::vector<const Table*> tables = parts;
  tables.push_back(&out);
  const std::size_t result = parts.size();
  const Table* driver = nullptr;  // the sparsest table leads, where there is one that is not dense
  for (const Table* table : parts)
    if (!table->dense() && (driver == nullptr || table->used() < driver->used())) driver = table;

  if (driver == nullptr) {
    std::vector<std::uint64_t> indices(tables.size());
    std::vector<std::uint64_t> along;
    for (const Table* table : parts) along.push_back(table->stride_of(x));
    Odometer wheels(domains, out.scope(), tables);
    const int values = domains[static_cast<std::size_t>(x)];
    do {
      base::Count least = kForbidden;
      for (int v = 0; v < values; ++v) {
        base::Count sum = 0;
        for (std::size_t t = 0; t < result; ++t) {
          sum += parts[t]->at(indices[t] + static_cast<std::uint64_t>(v) * along[t]);
          if (sum >= least) break;  // costs are not negative
        }
        least = std::min(least, sum);
      }
      if (least < kForbidden) out.lower(indices[result], least);
      if (ticker.spent()) return false;
    } while (wheels.next(indices));
    return true;
  }

  std::vector<int> others;
  for (const Table* table : parts)
    for (const int v : table->scope())
      if (!has(driver->scope(), v) && !has(others, v)) others.push_back(v);
  Odometer wheels(domains, others, tables);
  const std::vector<int>& led = driver->scope();
  std::vector<std::vector<std::uint64_t>> strides;
  for (const int v : led) {
    strides.emplace_back();
    for (const Table* table : tables) strides.back().push_back(table->stride_of(v));
  }
  bool stopped = false;
  std::vector<std::uint64_t> indices(tables.size());
  driver->each([&](std::uint64_t index, base::Count) {
    if (stopped) return;
    std::fill(indices.begin(), indices.end(), 0);
    for (std::size_t i = led.size(); i-- > 0;) {  // strides grow along the scope
      const std::uint64_t value = index / driver->strides()[i];
      index -= value * driver->strides()[i];
      for (std::size_t t = 0; t < indices.size(); ++t) indices[t] += value * strides[i][t];
    }
    do {
      base::Count sum = 0;
      for (std::size_t t = 0; t < result && sum < kForbidden; ++t) sum += parts[t]->at(indices[t]);
      if (sum < kForbidden) out.lower(indices[result], sum);
      stopped = stopped || ticker.spent();
    } while (wheels.next(indices));
  });
  return !stopped;
}

}  // namespace

Table::Table(const std::vector<int>& domains, std::vector<int> scope, double entries) : scope_(std::move(scope)) {
  std::uint64_t all = 1;
  for (const int v : scope_) {
    strides_.push_back(all);
    const auto size = static_cast<std::uint64_t>(domains[static_cast<std::size_t>(v)]);
    ORRERY_CHECK(all <= (std::uint64_t{1} << 62) / size, "cells of a table are numbered in 64 bits");
    all *= size;
  }
  // A hashed row takes two words at half load: four.
  dense_ = all <= 4096 || static_cast<double>(all) <= 4 * entries;
  if (dense_) {
    cells_.assign(all, kForbidden);
    used_ = all;
  } else {
    cells_.resize(16);
    keys_.assign(16, kNone);
    mask_ = 15;
  }
}

std::uint64_t Table::stride_of(int variable) const {
  for (std::size_t i = 0; i < scope_.size(); ++i)
    if (scope_[i] == variable) return strides_[i];
  return 0;
}

void Table::lower(std::uint64_t index, base::Count cost) {
  if (dense_) {
    cells_[index] = std::min(cells_[index], cost);
    return;
  }
  for (std::uint64_t slot = hash(index);; ++slot) {
    slot &= mask_;
    if (keys_[slot] == index) {
      cells_[slot] = std::min(cells_[slot], cost);
      return;
    }
    if (keys_[slot] != kNone) continue;
    keys_[slot] = index;
    cells_[slot] = cost;
    if (++used_ * 2 > mask_) grow();
    return;
  }
}

void Table::grow() {
  std::vector<std::uint64_t> keys(keys_.size() * 2, kNone);
  std::vector<base::Count> cells(cells_.size() * 2);
  mask_ = keys.size() - 1;
  for (std::size_t old = 0; old < keys_.size(); ++old) {
    if (keys_[old] == kNone) continue;
    std::uint64_t slot = hash(keys_[old]) & mask_;
    while (keys[slot] != kNone) slot = (slot + 1) & mask_;
    keys[slot] = keys_[old];
    cells[slot] = cells_[old];
  }
  keys_.swap(keys);
  cells_.swap(cells);
}

Plan plan_elimination(const FactorGraph& graph, double most_cells) {
  Plan best;
  bool first = true;
  for (const Greed greed : {Greed::kFill, Greed::kSize, Greed::kWeightedFill}) {
    Plan plan = plan_along(graph, greedy_order(graph, greed), most_cells);
    if (first || std::pair(!plan.exact, plan.cells + plan.steps) < std::pair(!best.exact, best.cells + best.steps))
      best = std::move(plan);
    first = false;
  }
  return best;
}

Buckets eliminate(const FactorGraph& graph, const Plan& plan, const base::Budget& budget) {
  Buckets out;
  for (const Factor& factor : graph.factors) {
    Table table(graph.domains, factor.variables, static_cast<double>(factor.rows()));
    for (std::size_t r = 0; r < factor.rows(); ++r) {
      std::uint64_t index = 0;
      for (std::size_t i = 0; i < factor.variables.size(); ++i) index += table.strides()[i] * factor.row(r)[i];
      table.lower(index, factor.costs[r]);
    }
    if (factor.variables.empty()) out.bound = std::min(kForbidden, out.bound + table.at(0));
    out.tables.push_back(std::move(table));
    if (budget.spent()) return out;
  }
  for (std::size_t step = 0; step < plan.order.size(); ++step)
    for (const Plan::Part& part : plan.parts[step]) {
      std::vector<const Table*> tables;
      for (const int t : part.tables) tables.push_back(&out.tables[static_cast<std::size_t>(t)]);
      Table message(graph.domains, part.scope, part.entries);
      if (!combine(graph.domains, tables, plan.order[step], message, budget)) return out;
      if (part.scope.empty()) out.bound = std::min(kForbidden, out.bound + message.at(0));
      out.tables.push_back(std::move(message));
    }
  out.finished = true;
  return out;
}

}  // namespace orrery::tuning
