#include "orrery/runtime/tuning/selection/consistency.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

// The variables that two factors share, as columns of each.
struct Shared {
  std::vector<std::size_t> mine, theirs;
  std::vector<std::uint64_t> strides;
  std::uint64_t keys = 1;  // how many there may be
};

Shared shared(const FactorGraph& graph, const Factor& mine, const Factor& theirs) {
  Shared out;
  for (std::size_t i = 0; i < mine.variables.size(); ++i) {
    const auto at = std::find(theirs.variables.begin(), theirs.variables.end(), mine.variables[i]);
    if (at == theirs.variables.end()) continue;
    out.mine.push_back(i);
    out.theirs.push_back(static_cast<std::size_t>(at - theirs.variables.begin()));
    out.strides.push_back(out.keys);
    const auto size =
        static_cast<std::uint64_t>(std::max(1, graph.domains[static_cast<std::size_t>(mine.variables[i])]));
    ORRERY_CHECK(out.keys <= (std::uint64_t{1} << 62) / size, "rows of a table are numbered in 64 bits");
    out.keys *= size;
  }
  return out;
}

std::uint64_t key(const std::uint16_t* row, const std::vector<std::size_t>& columns,
                  const std::vector<std::uint64_t>& strides) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) out += row[columns[i]] * strides[i];
  return out;
}

// A set of keys: flags where they are few, else a hash table.
class Keys {
 public:
  explicit Keys(std::uint64_t most) {
    if (most <= kMostFlags) flags_.resize(most);
  }
  void add(std::uint64_t k) {
    if (flags_.empty())
      set_.insert(k);
    else
      flags_[k] = 1;
  }
  bool has(std::uint64_t k) const { return flags_.empty() ? set_.contains(k) : flags_[k] != 0; }

 private:
  static constexpr std::uint64_t kMostFlags = std::uint64_t{1} << 24;
  std::vector<char> flags_;
  std::unordered_set<std::uint64_t> set_;
};

void keep_rows(Factor& factor, const std::vector<char>& kept) {
  const std::size_t width = factor.variables.size();
  std::size_t to = 0;
  for (std::size_t r = 0; r < factor.rows(); ++r) {
    if (!kept[r]) continue;
    if (to != r) {
      std::copy_n(factor.values.begin() + static_cast<std::ptrdiff_t>(r * width), width,
                  factor.values.begin() + static_cast<std::ptrdiff_t>(to * width));
      factor.costs[to] = factor.costs[r];
    }
    ++to;
  }
  factor.values.resize(to * width);
  factor.costs.resize(to);
}

// Rows of `mine` without a partner in `theirs` go. True where some did.
bool filter(const FactorGraph& graph, Factor& mine, const Factor& theirs) {
  const Shared common = shared(graph, mine, theirs);
  if (common.mine.empty()) return false;
  Keys present(common.keys);
  for (std::size_t r = 0; r < theirs.rows(); ++r) present.add(key(theirs.row(r), common.theirs, common.strides));
  std::vector<char> kept(mine.rows());
  bool all = true;
  for (std::size_t r = 0; r < mine.rows(); ++r) {
    kept[r] = present.has(key(mine.row(r), common.mine, common.strides));
    all = all && kept[r];
  }
  if (!all) keep_rows(mine, kept);
  return !all;
}

bool meet(const Factor& a, const Factor& b) {
  return std::any_of(a.variables.begin(), a.variables.end(),
                     [&](int v) { return std::find(b.variables.begin(), b.variables.end(), v) != b.variables.end(); });
}

// Values that occur get numbers 0, 1, ... in their old order.
void renumber(FactorGraph& graph, std::vector<Reduced>& meaning) {
  const std::vector<std::vector<int>> used = usable_values(graph);
  std::vector<std::vector<std::uint16_t>> number(used.size());
  for (std::size_t v = 0; v < used.size(); ++v) {
    number[v].resize(static_cast<std::size_t>(graph.domains[v]));
    for (std::size_t i = 0; i < used[v].size(); ++i)
      number[v][static_cast<std::size_t>(used[v][i])] = static_cast<std::uint16_t>(i);
    graph.domains[v] = static_cast<int>(used[v].size());
  }
  for (Factor& factor : graph.factors) {
    const std::size_t width = factor.variables.size();
    for (std::size_t at = 0; at < factor.values.size(); ++at)
      factor.values[at] = number[static_cast<std::size_t>(factor.variables[at % width])][factor.values[at]];
  }
  for (Reduced& one : meaning) {
    if (one.variable < 0) continue;
    std::vector<int> values;
    for (const int old : used[static_cast<std::size_t>(one.variable)])
      values.push_back(one.values[static_cast<std::size_t>(old)]);
    one.values = std::move(values);
  }
}

void drop_column(Factor& factor, std::size_t column) {
  const std::size_t width = factor.variables.size();
  std::size_t to = 0;
  for (std::size_t at = 0; at < factor.values.size(); ++at)
    if (at % width != column) factor.values[to++] = factor.values[at];
  factor.values.resize(to);
  factor.variables.erase(factor.variables.begin() + static_cast<std::ptrdiff_t>(column));
}

// Of rows with the same values the cheapest stays. Many keys are sorted.
void keep_cheapest(const FactorGraph& graph, Factor& factor) {
  Shared own = shared(graph, factor, factor);
  if (own.keys <= (std::uint64_t{1} << 24)) {
    std::vector<base::Count> least(own.keys, -1);
    for (std::size_t r = 0; r < factor.rows(); ++r) {
      base::Count& known = least[key(factor.row(r), own.mine, own.strides)];
      if (known < 0 || factor.costs[r] < known) known = factor.costs[r];
    }
    std::vector<char> kept(factor.rows());
    for (std::size_t r = 0; r < factor.rows(); ++r) {
      base::Count& known = least[key(factor.row(r), own.mine, own.strides)];
      kept[r] = known == factor.costs[r];
      if (kept[r]) known = -2;  // of equals the first
    }
    return keep_rows(factor, kept);
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> order(factor.rows());
  for (std::size_t r = 0; r < factor.rows(); ++r) order[r] = {key(factor.row(r), own.mine, own.strides), r};
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.first, factor.costs[a.second], a.second) <
           std::tuple(b.first, factor.costs[b.second], b.second);
  });
  std::vector<char> kept(factor.rows());
  for (std::size_t i = 0; i < order.size(); ++i) kept[order[i].second] = i == 0 || order[i].first != order[i - 1].first;
  keep_rows(factor, kept);
}

// Variables of one value leave the tables.
void drop_fixed(FactorGraph& graph, std::vector<Reduced>& meaning) {
  for (Factor& factor : graph.factors)
    for (std::size_t i = factor.variables.size(); i-- > 0;)
      if (graph.domains[static_cast<std::size_t>(factor.variables[i])] == 1) drop_column(factor, i);
  for (Reduced& one : meaning)
    if (one.variable >= 0 && graph.domains[static_cast<std::size_t>(one.variable)] == 1) one.variable = -1;
}

// For every value of column `a` the one value of column `b` that goes with it; nothing where that is not one to one.
std::vector<std::uint16_t> one_to_one(const FactorGraph& graph, const Factor& factor, std::size_t a, std::size_t b) {
  const auto size_a = static_cast<std::size_t>(graph.domains[static_cast<std::size_t>(factor.variables[a])]);
  const auto size_b = static_cast<std::size_t>(graph.domains[static_cast<std::size_t>(factor.variables[b])]);
  if (size_a != size_b) return {};
  constexpr std::uint16_t kNone = 0xffff;
  std::vector<std::uint16_t> to(size_a, kNone), from(size_b, kNone);
  for (std::size_t r = 0; r < factor.rows(); ++r) {
    const std::uint16_t x = factor.row(r)[a], y = factor.row(r)[b];
    if (to[x] == kNone && from[y] == kNone) {
      to[x] = y;
      from[y] = x;
    }
    if (to[x] != y || from[y] != x) return {};
  }
  return to;
}

// `gone` is `stays` under the map `to` (from values of `stays`): rows that say otherwise go, and so does the column.
void merge(FactorGraph& graph, int stays, int gone, const std::vector<std::uint16_t>& to,
           std::vector<Reduced>& meaning) {
  std::vector<std::uint16_t> back(to.size());
  for (std::size_t x = 0; x < to.size(); ++x) back[to[x]] = static_cast<std::uint16_t>(x);
  for (Factor& factor : graph.factors) {
    const auto at = std::find(factor.variables.begin(), factor.variables.end(), gone);
    if (at == factor.variables.end()) continue;
    const auto column = static_cast<std::size_t>(at - factor.variables.begin());
    const std::size_t width = factor.variables.size();
    for (std::size_t i = column; i < factor.values.size(); i += width) factor.values[i] = back[factor.values[i]];
    const auto other = std::find(factor.variables.begin(), factor.variables.end(), stays);
    if (other == factor.variables.end()) {
      *at = stays;
      continue;
    }
    const auto second = static_cast<std::size_t>(other - factor.variables.begin());
    std::vector<char> kept(factor.rows());
    for (std::size_t r = 0; r < factor.rows(); ++r) kept[r] = factor.row(r)[column] == factor.row(r)[second];
    keep_rows(factor, kept);
    drop_column(factor, column);
  }
  for (Reduced& one : meaning) {
    if (one.variable != gone) continue;
    std::vector<int> values(to.size());
    for (std::size_t x = 0; x < to.size(); ++x) values[x] = one.values[to[x]];
    one = {stays, std::move(values)};
  }
}

bool merge_one(FactorGraph& graph, std::vector<Reduced>& meaning) {
  for (const Factor& factor : graph.factors)
    for (std::size_t a = 0; a < factor.variables.size(); ++a)
      for (std::size_t b = a + 1; b < factor.variables.size(); ++b)
        if (const auto to = one_to_one(graph, factor, a, b); !to.empty()) {
          merge(graph, factor.variables[a], factor.variables[b], to, meaning);
          return true;
        }
  return false;
}

}  // namespace

Consistency make_consistent(FactorGraph& graph, const base::Budget& budget) {
  const std::size_t n = graph.factors.size();
  std::deque<std::size_t> changed(n);
  std::iota(changed.begin(), changed.end(), std::size_t{0});
  // Small tables first: they are cheap to ask and take most away.
  std::stable_sort(changed.begin(), changed.end(),
                   [&](std::size_t a, std::size_t b) { return graph.factors[a].rows() < graph.factors[b].rows(); });
  std::vector<char> waits(n, 1);
  while (!changed.empty()) {
    if (budget.spent()) return Consistency::kStopped;
    const std::size_t by = changed.front();
    changed.pop_front();
    waits[by] = 0;
    if (graph.factors[by].rows() == 0) return Consistency::kEmpty;
    for (std::size_t f = 0; f < n; ++f) {
      if (f == by || !meet(graph.factors[f], graph.factors[by])) continue;
      if (!filter(graph, graph.factors[f], graph.factors[by])) continue;
      if (graph.factors[f].rows() == 0) return Consistency::kEmpty;
      if (!waits[f]) {
        waits[f] = 1;
        changed.push_back(f);
      }
    }
  }
  return Consistency::kConsistent;
}

std::vector<std::vector<int>> usable_values(const FactorGraph& graph) {
  std::vector<std::vector<std::size_t>> seen(graph.domains.size());
  std::vector<std::size_t> wanted(graph.domains.size());
  for (std::size_t v = 0; v < seen.size(); ++v) seen[v].assign(static_cast<std::size_t>(graph.domains[v]), 0);
  for (const Factor& factor : graph.factors) {
    const std::size_t width = factor.variables.size();
    for (std::size_t i = 0; i < width; ++i) {
      std::vector<std::size_t>& counts = seen[static_cast<std::size_t>(factor.variables[i])];
      std::vector<char> here(counts.size());
      for (std::size_t at = i; at < factor.values.size(); at += width) here[factor.values[at]] = 1;
      for (std::size_t value = 0; value < counts.size(); ++value)
        counts[value] += static_cast<std::size_t>(here[value]);
      ++wanted[static_cast<std::size_t>(factor.variables[i])];
    }
  }
  std::vector<std::vector<int>> out(graph.domains.size());
  for (std::size_t v = 0; v < seen.size(); ++v)
    for (std::size_t value = 0; value < seen[v].size(); ++value)
      if (seen[v][value] == wanted[v]) out[v].push_back(static_cast<int>(value));
  return out;
}

Consistency reduce(FactorGraph& graph, std::vector<Reduced>& meaning, const base::Budget& budget) {
  meaning.resize(graph.domains.size());
  for (std::size_t v = 0; v < meaning.size(); ++v) {
    meaning[v].variable = static_cast<int>(v);
    meaning[v].values.resize(static_cast<std::size_t>(graph.domains[v]));
    std::iota(meaning[v].values.begin(), meaning[v].values.end(), 0);
  }
  do {
    if (const Consistency made = make_consistent(graph, budget); made != Consistency::kConsistent) return made;
    renumber(graph, meaning);
    if (std::any_of(graph.domains.begin(), graph.domains.end(), [](int size) { return size == 0; }))
      return Consistency::kEmpty;
    drop_fixed(graph, meaning);
    for (Factor& factor : graph.factors) keep_cheapest(graph, factor);
  } while (merge_one(graph, meaning));
  return Consistency::kConsistent;
}

}  // namespace orrery::tuning
