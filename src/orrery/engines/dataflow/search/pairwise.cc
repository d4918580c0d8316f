// Variable elimination. A variable is removed by tabulating, for every combination of states of its neighbours, its
// best state and the price of everything removed so far that hangs on it; the table joins the neighbours. The last
// table has one entry: the optimum. Prices add up, and the order (price, then the vector of states) stays as it is
// when equal parts are added on both sides, so keeping the best entry of every combination is exact, ties included.
//
// Cost: the sum of the tables' sizes, states ^ (tree-width + 1); graphs of transformer layers have tree-width below 5
// and most of their kernels one to three states. Where the cheapest next table would still be too large, the variable
// with most neighbours is fixed to each of its states in turn (cutset conditioning, R. Dechter 1990), under the bound
// that the least price of every variable and pair gives.
#include "orrery/engines/dataflow/search/pairwise.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace orrery::dataflow {
namespace {

constexpr std::uint8_t kUnset = 255;

// Prices over combinations of states of `scope`, last variable fastest. `fixed` holds, per entry, the states of the
// variables removed into this table; empty when there are none.
struct Table {
  std::vector<int> scope;
  std::vector<TieredPrice> price;
  std::vector<std::uint8_t> fixed;
};

class Elimination {
 public:
  Elimination(const PairwiseProblem& problem, const PairwiseLimits& limits)
      : problem_(problem), limits_(limits), variables_(problem.alone.size()) {}

  PairwiseOptimum run() {
    descend();
    std::vector<int> none(variables_, -1);
    const TieredPrice bound_of_all = bound(none);
    const bool complete = branch(none);
    best_.proven = complete;
    best_.bound = complete ? best_.price : std::min(bound_of_all, best_.price);
    best_.work = work_;
    return best_;
  }

 private:
  // A start for the bound: every variable's best state while the others stand, until none changes.
  void descend() {
    std::vector<int> state(variables_, 0);
    std::vector<std::vector<const PairPrice*>> around(variables_);
    for (const PairPrice& pair : problem_.pairs) {
      around[pair.a].push_back(&pair);
      around[pair.b].push_back(&pair);
    }
    bool changed = true;
    for (int round = 0; changed && round < 100; ++round) {
      changed = false;
      for (std::size_t v = 0; v < variables_; ++v) {
        const auto local = [&](int s) {
          TieredPrice sum = problem_.alone[v][s];
          for (const PairPrice* pair : around[v]) {
            const int a = pair->a == static_cast<int>(v) ? s : state[pair->a];
            const int b = pair->b == static_cast<int>(v) ? s : state[pair->b];
            sum += pair->price[a * problem_.alone[pair->b].size() + b];
          }
          return sum;
        };
        for (int s = 0; s < states(v); ++s) {
          if (local(s) < local(state[v])) {
            state[v] = s;
            changed = true;
          }
        }
      }
    }
    best_.state = state;
    best_.price = dataflow::price(problem_, state);
  }

  int states(std::size_t variable) const { return static_cast<int>(problem_.alone[variable].size()); }

  TieredPrice bound(const std::vector<int>& given) const {
    TieredPrice sum;
    for (std::size_t v = 0; v < variables_; ++v) {
      sum += given[v] >= 0 ? problem_.alone[v][given[v]]
                           : *std::min_element(problem_.alone[v].begin(), problem_.alone[v].end());
    }
    for (const PairPrice& pair : problem_.pairs) {
      bool some = false;
      TieredPrice least;
      for (int a = 0; a < states(pair.a); ++a) {
        if (given[pair.a] >= 0 && given[pair.a] != a) continue;
        for (int b = 0; b < states(pair.b); ++b) {
          if (given[pair.b] >= 0 && given[pair.b] != b) continue;
          const TieredPrice& here = pair.price[a * states(pair.b) + b];
          if (!some || here < least) least = here;
          some = true;
        }
      }
      sum += least;
    }
    return sum;
  }

  // The best completion of `given` goes to best_; false where the work ran out.
  bool branch(std::vector<int>& given) {
    if (best_.price < bound(given)) return true;
    int widest = -1;
    const std::vector<int> order = elimination_order(given, widest);
    if (widest < 0) {
      eliminate(given, order);
      return true;
    }
    bool complete = true;
    for (int s = 0; s < states(widest) && complete; ++s) {
      if (work_ > limits_.most_work || (limits_.budget != nullptr && limits_.budget->spent())) return false;
      given[widest] = s;
      complete = branch(given);
    }
    given[widest] = -1;
    return complete;
  }

  // Smallest next table first, lowest number among equals. `widest`: where a table would exceed its limit, the free
  // variable with most neighbours.
  std::vector<int> elimination_order(const std::vector<int>& given, int& widest) const {
    std::vector<std::set<int>> around(variables_);
    std::vector<double> entries(variables_, 0);  // of the table that removing it makes; 0: not free
    for (std::size_t v = 0; v < variables_; ++v)
      if (given[v] < 0 && states(v) > 1) entries[v] = states(v);
    for (const PairPrice& pair : problem_.pairs) {
      if (entries[pair.a] == 0 || entries[pair.b] == 0) continue;
      around[pair.a].insert(pair.b);
      around[pair.b].insert(pair.a);
    }
    const auto measure = [&](int v) {
      entries[v] = states(v);
      for (int u : around[v]) entries[v] *= states(u);
    };
    for (std::size_t v = 0; v < variables_; ++v)
      if (entries[v] > 0) measure(static_cast<int>(v));
    std::vector<int> order;
    for (;;) {
      int next = -1;
      for (std::size_t v = 0; v < variables_; ++v)
        if (entries[v] > 0 && (next < 0 || entries[v] < entries[next])) next = static_cast<int>(v);
      if (next < 0) return order;
      if (entries[next] > static_cast<double>(limits_.most_entries)) {
        for (std::size_t v = 0; v < variables_; ++v)
          if (entries[v] > 0 && (widest < 0 || around[v].size() > around[widest].size())) widest = static_cast<int>(v);
        return order;
      }
      order.push_back(next);
      entries[next] = 0;
      for (int u : around[next]) {
        around[u].insert(around[next].begin(), around[next].end());
        around[u].erase(u);
        around[u].erase(next);
      }
      for (int u : around[next]) measure(u);
    }
  }

  void eliminate(const std::vector<int>& given, const std::vector<int>& order) {
    // Prices of variables that have one state, or are given one, become prices of the others or a constant.
    std::vector<int> known = given;
    for (std::size_t v = 0; v < variables_; ++v)
      if (states(v) == 1) known[v] = 0;
    TieredPrice constant;
    std::vector<std::vector<TieredPrice>> alone = problem_.alone;
    for (std::size_t v = 0; v < variables_; ++v)
      if (known[v] >= 0) constant += alone[v][known[v]];
    std::vector<Table> tables;
    for (const PairPrice& pair : problem_.pairs) {
      const int columns = states(pair.b);
      if (known[pair.a] >= 0 && known[pair.b] >= 0) {
        constant += pair.price[known[pair.a] * columns + known[pair.b]];
      } else if (known[pair.a] >= 0) {
        for (int s = 0; s < columns; ++s) alone[pair.b][s] += pair.price[known[pair.a] * columns + s];
      } else if (known[pair.b] >= 0) {
        for (int s = 0; s < states(pair.a); ++s) alone[pair.a][s] += pair.price[s * columns + known[pair.b]];
      } else {
        tables.push_back({{pair.a, pair.b}, pair.price, {}});
      }
    }
    std::vector<std::uint8_t> chosen(variables_, kUnset);
    for (std::size_t v = 0; v < variables_; ++v)
      if (known[v] >= 0) chosen[v] = static_cast<std::uint8_t>(known[v]);
    for (int variable : order) {
      Table made = remove(variable, alone[variable], tables);
      if (made.scope.empty()) {
        constant += made.price[0];
        for (std::size_t v = 0; v < variables_; ++v) chosen[v] = std::min(chosen[v], made.fixed[v]);
      } else {
        tables.push_back(std::move(made));
      }
    }
    std::vector<int> state(chosen.begin(), chosen.end());
    if (constant < best_.price || (constant == best_.price && state < best_.state)) {
      best_.price = constant;
      best_.state = std::move(state);
    }
  }

  // Takes the tables of `variable` out of `tables` and returns the one over its neighbours.
  Table remove(int variable, const std::vector<TieredPrice>& alone, std::vector<Table>& tables) {
    std::vector<Table> own;
    for (std::size_t t = 0; t < tables.size();) {
      if (std::find(tables[t].scope.begin(), tables[t].scope.end(), variable) != tables[t].scope.end()) {
        own.push_back(std::move(tables[t]));
        tables[t] = std::move(tables.back());
        tables.pop_back();
      } else {
        ++t;
      }
    }
    Table made;
    for (const Table& table : own) made.scope.insert(made.scope.end(), table.scope.begin(), table.scope.end());
    std::sort(made.scope.begin(), made.scope.end());
    made.scope.erase(std::unique(made.scope.begin(), made.scope.end()), made.scope.end());
    std::erase(made.scope, variable);

    // Position in every own table, moved along with the combination.
    const std::size_t width = made.scope.size();
    std::vector<std::vector<std::size_t>> stride(own.size(), std::vector<std::size_t>(width, 0));
    std::vector<std::size_t> own_stride(own.size(), 0);
    for (std::size_t t = 0; t < own.size(); ++t) {
      std::size_t step = 1;
      for (std::size_t i = own[t].scope.size(); i-- > 0;) {
        const int v = own[t].scope[i];
        if (v == variable) {
          own_stride[t] = step;
        } else {
          stride[t][std::lower_bound(made.scope.begin(), made.scope.end(), v) - made.scope.begin()] = step;
        }
        step *= states(v);
      }
    }
    std::size_t entries = 1;
    for (int v : made.scope) entries *= states(v);
    made.price.resize(entries);
    made.fixed.resize(entries * variables_);
    work_ += entries * states(variable) * (own.size() + 1);

    std::vector<int> at(width, 0);
    std::vector<std::size_t> position(own.size(), 0);
    std::vector<std::uint8_t> candidate(variables_), kept(variables_);
    const auto states_with = [&](int s, std::vector<std::uint8_t>& out) {
      std::fill(out.begin(), out.end(), kUnset);
      out[variable] = static_cast<std::uint8_t>(s);
      for (std::size_t t = 0; t < own.size(); ++t) {
        if (own[t].fixed.empty()) continue;
        const std::uint8_t* from = own[t].fixed.data() + (position[t] + s * own_stride[t]) * variables_;
        for (std::size_t v = 0; v < variables_; ++v) out[v] = std::min(out[v], from[v]);
      }
    };
    for (std::size_t entry = 0; entry < entries; ++entry) {
      TieredPrice least;
      for (int s = 0; s < states(variable); ++s) {
        TieredPrice sum = alone[s];
        for (std::size_t t = 0; t < own.size(); ++t) sum += own[t].price[position[t] + s * own_stride[t]];
        if (s > 0 && least < sum) continue;
        if (s > 0 && sum == least) {
          states_with(s, candidate);
          if (!(candidate < kept)) continue;
          kept.swap(candidate);
        } else {
          states_with(s, kept);
        }
        least = sum;
      }
      made.price[entry] = least;
      std::memcpy(made.fixed.data() + entry * variables_, kept.data(), variables_);
      for (std::size_t i = width; i-- > 0;) {
        const bool carry = ++at[i] == states(made.scope[i]);
        for (std::size_t t = 0; t < own.size(); ++t) {
          position[t] += stride[t][i];
          if (carry) position[t] -= stride[t][i] * states(made.scope[i]);
        }
        if (!carry) break;
        at[i] = 0;
      }
    }
    return made;
  }

  const PairwiseProblem& problem_;
  const PairwiseLimits limits_;
  const std::size_t variables_;
  PairwiseOptimum best_;
  std::uint64_t work_ = 0;
};

}  // namespace

TieredPrice price(const PairwiseProblem& problem, const std::vector<int>& state) {
  TieredPrice sum;
  for (std::size_t v = 0; v < state.size(); ++v) sum += problem.alone[v][state[v]];
  for (const PairPrice& pair : problem.pairs)
    sum += pair.price[state[pair.a] * problem.alone[pair.b].size() + state[pair.b]];
  return sum;
}

PairwiseOptimum least(const PairwiseProblem& problem, const PairwiseLimits& limits) {
  return Elimination(problem, limits).run();
}

}  // namespace orrery::dataflow
