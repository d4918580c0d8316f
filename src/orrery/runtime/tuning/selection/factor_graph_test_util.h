// Random factor graphs, and all their choices one by one.
#pragma once

#include <optional>
#include <random>

#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

struct Drawn {
  int variables = 6, most_values = 4, factors = 6, most_scope = 3;
  double density = 0.7;  // of rows that a table has
  bool tied = true;      // some tables tie two variables one to one
};

inline FactorGraph random_graph(std::mt19937_64& draw, const Drawn& like) {
  const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<std::uint64_t>(n)); };
  FactorGraph out;
  for (int v = 0; v < like.variables; ++v) out.domains.push_back(1 + below(like.most_values));
  for (int f = 0; f < like.factors; ++f) {
    Factor factor;
    factor.name = "f" + std::to_string(f);
    const int scope = 1 + below(std::min(like.most_scope, like.variables));
    while (static_cast<int>(factor.variables.size()) < scope) {
      const int v = below(like.variables);
      if (std::find(factor.variables.begin(), factor.variables.end(), v) == factor.variables.end())
        factor.variables.push_back(v);
    }
    const bool tie = like.tied && scope >= 2 && below(4) == 0;
    std::vector<std::uint16_t> row(factor.variables.size());
    for (;;) {
      if ((draw() >> 11) * 0x1p-53 < like.density && (!tie || row[0] == row[1])) {
        for (int again = below(8) == 0 ? 2 : 1; again > 0; --again) {
          factor.values.insert(factor.values.end(), row.begin(), row.end());
          factor.costs.push_back(below(1000));
        }
      }
      std::size_t i = 0;
      while (i < row.size() && ++row[i] == out.domains[static_cast<std::size_t>(factor.variables[i])]) row[i++] = 0;
      if (i == row.size()) break;
    }
    out.factors.push_back(std::move(factor));
  }
  return out;
}

// The least cost of all choices; nothing where none is allowed.
inline std::optional<base::Count> brute_force(const FactorGraph& graph) {
  std::optional<base::Count> least;
  std::vector<int> values(graph.domains.size());
  for (;;) {
    const Priced priced = price(graph, values);
    if (priced.allowed && (!least || priced.cost < *least)) least = priced.cost;
    std::size_t v = 0;
    while (v < values.size() && ++values[v] == graph.domains[v]) values[v++] = 0;
    if (v == values.size()) return least;
  }
}

}  // namespace orrery::tuning
