#include "orrery/runtime/tuning/selection/first_choice.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery::tuning {
namespace {

constexpr std::uint64_t kRoundsOfWork = 24, kLeastWork = 4'000'000;  // rows looked at: times the graph's, at least

enum class Next { kRegret, kFewest };

class Dive {
 public:
  Dive(const FactorGraph& graph, Next next) : graph_(graph), next_(next) {
    std::uint64_t rows = 0;
    for (const Factor& factor : graph.factors) {
      rows += factor.rows();
      Rows& one = rows_.emplace_back();
      one.order.resize(factor.rows());
      std::iota(one.order.begin(), one.order.end(), 0u);
      one.left = one.order.size();
      for (const int v : factor.variables)
        one.least.emplace_back(static_cast<std::size_t>(graph.domains[static_cast<std::size_t>(v)]), kNone);
    }
    work_ = std::max(kLeastWork, kRoundsOfWork * rows);
    uses_.resize(graph.domains.size());
    for (std::size_t f = 0; f < graph.factors.size(); ++f)
      for (const int v : graph.factors[f].variables) uses_[static_cast<std::size_t>(v)].push_back(f);
    for (const int size : graph.domains) {
      allowed_.emplace_back(static_cast<std::size_t>(size), char{1});
      left_.push_back(size);
    }
    waits_.assign(graph.factors.size(), 0);
  }

  FirstChoice run() {
    FirstChoice out;
    for (std::size_t f = 0; f < rows_.size(); ++f) wait(f);
    if (!propagate()) {
      out.infeasible = !ended_;
      return out;
    }
    for (std::size_t f = 0; f < rows_.size(); ++f) out.bound += cheapest(f);
    out.found = go();
    out.infeasible = !out.found && !ended_;
    if (out.found)
      for (const std::vector<char>& values : allowed_)
        out.values.push_back(
            std::max(0, static_cast<int>(std::find(values.begin(), values.end(), char{1}) - values.begin())));
    return out;
  }

 private:
  static constexpr base::Count kNone = std::numeric_limits<base::Count>::max();
  struct Rows {
    std::vector<std::uint32_t> order;  // the first `left` are usable
    std::size_t left = 0;
    std::vector<std::vector<base::Count>> least;  // of each column and value, the cheapest usable row
    bool fresh = false;                           // `least` is of the rows that are usable now
  };

  void wait(std::size_t f) {
    if (waits_[f] != 0) return;
    waits_[f] = 1;
    queue_.push_back(f);
  }

  // Rows with values that are gone go, then values without rows, until nothing changes. False: nothing is left, or the
  // work is used up.
  bool propagate() {
    bool good = true;
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const std::size_t f = queue_[at];
      waits_[f] = 0;
      good = good && look(f);
    }
    queue_.clear();
    return good;
  }

  bool look(std::size_t f) {
    const Factor& factor = graph_.factors[f];
    Rows& rows = rows_[f];
    if (work_ < rows.left) {
      ended_ = true;
      return false;
    }
    work_ -= rows.left;
    const std::size_t width = factor.variables.size();
    for (std::vector<base::Count>& column : rows.least) std::fill(column.begin(), column.end(), kNone);
    for (std::size_t i = 0; i < rows.left;) {
      const std::uint32_t r = rows.order[i];
      const std::uint16_t* const values = factor.row(r);
      bool usable = true;
      for (std::size_t c = 0; c < width && usable; ++c)
        usable = allowed_[static_cast<std::size_t>(factor.variables[c])][values[c]] != 0;
      if (!usable) {
        std::swap(rows.order[i], rows.order[--rows.left]);
        continue;
      }
      for (std::size_t c = 0; c < width; ++c) {
        base::Count& least = rows.least[c][values[c]];
        least = std::min(least, factor.costs[r]);
      }
      ++i;
    }
    rows.fresh = true;
    if (rows.left == 0) return false;
    for (std::size_t c = 0; c < width; ++c) {
      const auto v = static_cast<std::size_t>(factor.variables[c]);
      for (std::size_t value = 0; value < allowed_[v].size(); ++value)
        if (allowed_[v][value] != 0 && rows.least[c][value] == kNone) forbid(v, value, f);
      if (left_[v] == 0) return false;
    }
    return true;
  }

  void forbid(std::size_t v, std::size_t value, std::size_t by) {
    allowed_[v][value] = 0;
    --left_[v];
    trail_.emplace_back(v, value);
    for (const std::size_t f : uses_[v])
      if (f != by) wait(f);
  }

  void refresh(std::size_t f) {
    if (!rows_[f].fresh) look(f);
  }
  base::Count cheapest(std::size_t f) {
    const Factor& factor = graph_.factors[f];
    if (factor.variables.empty()) {
      base::Count least = kNone;
      for (std::size_t i = 0; i < rows_[f].left; ++i) least = std::min(least, factor.costs[rows_[f].order[i]]);
      return least;
    }
    refresh(f);
    return *std::min_element(rows_[f].least[0].begin(), rows_[f].least[0].end());
  }

  // Sum of the cheapest rows with each value of a variable.
  std::vector<std::pair<base::Count, int>> judged(std::size_t v) {
    std::vector<std::pair<base::Count, int>> out;
    for (std::size_t value = 0; value < allowed_[v].size(); ++value) {
      if (allowed_[v][value] == 0) continue;
      base::Count sum = 0;
      for (const std::size_t f : uses_[v]) {
        refresh(f);
        const std::vector<int>& variables = graph_.factors[f].variables;
        const auto column = static_cast<std::size_t>(
            std::find(variables.begin(), variables.end(), static_cast<int>(v)) - variables.begin());
        const base::Count least = rows_[f].least[column][value];
        sum += least == kNone ? 0 : least;
      }
      out.emplace_back(sum, static_cast<int>(value));
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  bool go() {
    std::size_t best = allowed_.size();
    base::Count most = -1;
    std::vector<std::pair<base::Count, int>> values;
    for (std::size_t v = 0; v < allowed_.size(); ++v) {
      if (left_[v] < 2 || uses_[v].empty()) continue;
      if (next_ == Next::kFewest) {
        if (best < allowed_.size() && left_[v] >= left_[best]) continue;
        best = v;
        continue;
      }
      auto judgement = judged(v);
      if (ended_) return false;
      const base::Count regret = judgement[1].first - judgement[0].first;
      if (regret <= most) continue;
      best = v;
      most = regret;
      values = std::move(judgement);
    }
    if (best == allowed_.size()) return true;
    if (next_ == Next::kFewest) values = judged(best);
    for (const auto& [cost, value] : values) {
      if (ended_) return false;
      const std::size_t mark = trail_.size();
      std::vector<std::size_t> counts;
      for (const Rows& rows : rows_) counts.push_back(rows.left);
      for (std::size_t other = 0; other < allowed_[best].size(); ++other)
        if (allowed_[best][other] != 0 && other != static_cast<std::size_t>(value)) forbid(best, other, rows_.size());
      if (propagate() && go()) return true;
      while (trail_.size() > mark) {
        const auto [v, gone] = trail_.back();
        trail_.pop_back();
        allowed_[v][gone] = 1;
        ++left_[v];
      }
      for (std::size_t f = 0; f < rows_.size(); ++f) {
        rows_[f].fresh = rows_[f].fresh && rows_[f].left == counts[f];
        rows_[f].left = counts[f];
      }
    }
    return false;
  }

  const FactorGraph& graph_;
  Next next_;
  std::vector<Rows> rows_;
  std::vector<std::vector<std::size_t>> uses_;  // factors of each variable
  std::vector<std::vector<char>> allowed_;
  std::vector<int> left_;  // values of each variable
  std::vector<std::pair<std::size_t, std::size_t>> trail_;
  std::vector<std::size_t> queue_;
  std::vector<char> waits_;
  std::uint64_t work_ = 0;
  bool ended_ = false;
};

}  // namespace

FirstChoice first_choice(const FactorGraph& graph) {
  FirstChoice out = Dive(graph, Next::kRegret).run();
  if (out.found || out.infeasible) return out;
  FirstChoice other = Dive(graph, Next::kFewest).run();
  other.bound = std::max(other.bound, out.bound);
  return other;
}

}  // namespace orrery::tuning
