// Buckets of a factor graph: the order in which variables go, the tables that this makes, and lower bounds from them.
// factor_graph.h has the idea and the sources.
#pragma once

#include <vector>

#include "orrery/runtime/tuning/selection/factor_graph.h"

namespace orrery::tuning {

inline constexpr base::Count kForbidden = base::Count{1} << 61;  // above every sum that is allowed

// A function of some variables. Dense where most choices have a row or there are few choices, else a hash table.
class Table {
 public:
  Table(const std::vector<int>& domains, std::vector<int> scope, double entries);

  const std::vector<int>& scope() const { return scope_; }
  const std::vector<std::uint64_t>& strides() const { return strides_; }
  bool dense() const { return dense_; }
  std::size_t used() const { return used_; }  // rows; of dense ones all cells

  base::Count at(std::uint64_t index) const {
    if (dense_) return cells_[index];
    for (std::uint64_t slot = hash(index);; ++slot) {
      slot &= mask_;
      if (keys_[slot] == index) return cells_[slot];
      if (keys_[slot] == kNone) return kForbidden;
    }
  }
  void lower(std::uint64_t index, base::Count cost);  // to `cost` where it is less
  // Of what the value of each variable is.
  std::uint64_t index(const std::vector<int>& values) const {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < scope_.size(); ++i)
      out += strides_[i] * static_cast<std::uint64_t>(values[static_cast<std::size_t>(scope_[i])]);
    return out;
  }
  std::uint64_t stride_of(int variable) const;  // 0 where it has not that variable

  // Calls visit(index, cost) for every row.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::uint64_t slot = 0; slot < cells_.size(); ++slot) {
      if (dense_ ? cells_[slot] < kForbidden : keys_[slot] != kNone) visit(dense_ ? slot : keys_[slot], cells_[slot]);
    }
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static std::uint64_t hash(std::uint64_t key) { return (key * 0x9e3779b97f4a7c15u) >> 20; }
  void grow();

  std::vector<int> scope_;
  std::vector<std::uint64_t> strides_;
  bool dense_ = true;
  std::size_t used_ = 0;
  std::uint64_t mask_ = 0;
  std::vector<std::uint64_t> keys_;
  std::vector<base::Count> cells_;
};

// What elimination will do, known before: which tables meet in which bucket, and how much that makes.
struct Plan {
  struct Part {               // a mini-bucket
    std::vector<int> tables;  // factors 0 ... n - 1, then messages in the order in which they are made
    int message = 0;          // that it makes
    std::vector<int> scope;   // of the message
    double entries = 0;       // of the message, at most
  };
  std::vector<int> order;                // variables that factors have, the first eliminated first
  std::vector<std::vector<Part>> parts;  // of each step of the order
  bool exact = true;
  int width = 0;
  double cells = 0, steps = 0;  // kept; computed
};

// The best of several orders, with no message of more than `most_cells` but those of a single table.
Plan plan_elimination(const FactorGraph& graph, double most_cells);

struct Buckets {
  std::vector<Table> tables;  // factors, then messages
  base::Count bound = 0;      // sum of the constants
  bool finished = false;      // false: the budget ended it, and `bound` means nothing
};
Buckets eliminate(const FactorGraph& graph, const Plan& plan, const base::Budget& budget);

}  // namespace orrery::tuning
