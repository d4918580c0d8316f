// The least sum of prices of variables and of pairs of variables: the core of choosing a sharding.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "orrery/base/limits/budget.h"

namespace orrery::dataflow {

// Compared in this order. Exact integers, so that sums do not depend on their order and ties are ties.
struct TieredPrice {
  __int128 first = 0, second = 0, third = 0;

  TieredPrice& operator+=(const TieredPrice& other) {
    first += other.first;
    second += other.second;
    third += other.third;
    return *this;
  }
  friend TieredPrice operator+(TieredPrice a, const TieredPrice& b) { return a += b; }
  friend auto operator<=>(const TieredPrice&, const TieredPrice&) = default;
};

struct PairPrice {
  int a = 0, b = 0;                // different variables
  std::vector<TieredPrice> price;  // [state of a * states of b + state of b]
};

struct PairwiseProblem {
  std::vector<std::vector<TieredPrice>> alone;  // [variable][state]; at least one state, at most 255
  std::vector<PairPrice> pairs;
};

struct PairwiseLimits {
  std::size_t most_entries = std::size_t{1} << 16;   // of one table
  std::uint64_t most_work = std::uint64_t{1} << 28;  // table entries read, of all tables
  const base::Budget* budget = nullptr;              // null: without limits
};

struct PairwiseOptimum {
  std::vector<int> state;  // per variable
  TieredPrice price;
  TieredPrice bound;  // nothing is cheaper; equals price when proven
  bool proven = false;
  std::uint64_t work = 0;
};

TieredPrice price(const PairwiseProblem& problem, const std::vector<int>& state);

// Least price; of equal ones the lexicographically first vector of states.
PairwiseOptimum least(const PairwiseProblem& problem, const PairwiseLimits& limits = {});

}  // namespace orrery::dataflow
