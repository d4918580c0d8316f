// The cheapest choice of values for variables that tables tie together, exactly: minimise the sum over factors f of
// f(values of its variables), where a row that a table lacks is forbidden.
//
// Idea. Bucket elimination: take the variables one after the other; add up the factors that have the variable x, keep
// for every choice of their other variables the least sum over x, and put that table back as a new factor,
//
//   m(S) = min over x of  sum of f in the bucket of x  f(S, x),
//
// until constants remain, whose sum is the optimum; backwards, every x takes the value that was least. Tables grow with
// the number of variables that meet in a bucket (the width of the order), so where one would pass the memory its bucket
// is split in parts (mini-buckets), each of which takes its own least x: the result is then a lower bound of the
// optimum, for every partial choice too, and a depth-first search with that bound finds the optimum. With no bucket
// split the bound is exact and the search walks straight to the optimum: one procedure is both.
//
// Before: rows that can agree with no row of a neighbour are dropped until none is left (consistency.h); variables that
// a table ties one to one become one, those with one value vanish. Orders: min-fill, least table, least growth; the
// one with the fewest cells is taken.
//
// Source: R. Dechter, "Bucket elimination", Artificial Intelligence 113 (1999); R. Dechter, I. Rish, "Mini-buckets",
// JACM 50 (2003); K. Kask, R. Dechter, "A general scheme for automatic generation of search heuristics", Artificial
// Intelligence 129 (2001). Cost: with width w and d values a variable, time and memory d^(w+1) a bucket; the search is
// exponential where buckets were split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"

namespace orrery::tuning {

// Costs are whole numbers, so that sums are exact. The sum over factors of their dearest rows must stay below this.
inline constexpr base::Count kMostCost = base::Count{1} << 60;

struct Factor {
  std::string name;
  std::vector<int> variables;         // distinct
  std::vector<std::uint16_t> values;  // of each row, as many as there are variables
  std::vector<base::Count> costs;     // of each row, from 0 on; of rows with the same values the cheapest counts

  std::size_t rows() const { return costs.size(); }
  const std::uint16_t* row(std::size_t r) const { return values.data() + r * variables.size(); }
};

struct FactorGraph {
  std::vector<int> domains;  // how many values each variable may take
  std::vector<Factor> factors;

  // The sum over factors of their dearest rows; nothing where it does not stay below kMostCost.
  bool sums_fit() const;
};

struct Minimum {
  bool found = false;       // a choice that no factor forbids
  bool infeasible = false;  // proven: there is none
  std::vector<int> values;  // of each variable, where found
  base::Count cost = 0;     // of that choice
  base::Count bound = 0;    // no choice costs less
  bool exact = false;       // no bucket was split
  int width = 0;            // most variables of a message
  double cells = 0;         // of all messages
  std::uint64_t nodes = 0;  // of the search
  double choices = 0;       // product of the domains after consistency

  bool proven() const { return infeasible || (found && cost == bound); }
};

// Deterministic but for limits. `graph` must have sums that fit, and values below their domains. When the budget ends
// the search, the best so far and a bound that holds; where nothing was found by then, first_choice.h's, whose work is
// bounded by the graph and not by the budget.
Minimum minimize(const FactorGraph& graph, const base::Budget& budget);

// The cost of a choice: the sum of the cheapest rows that match; nothing where some factor has none. O(rows).
struct Priced {
  bool allowed = false;
  base::Count cost = 0;
  std::vector<std::int64_t> rows;  // of each factor, the cheapest that matches; -1: it forbids the choice
};
Priced price(const FactorGraph& graph, const std::vector<int>& values);

}  // namespace orrery::tuning
