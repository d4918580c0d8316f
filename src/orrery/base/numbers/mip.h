// Mixed-integer linear programmes: minimise cost * x with lower <= A x <= upper, some x whole.
//
// Only this file depends on the solver (Coin-OR CBC). One thread, fixed seeds: equal programmes have equal answers,
// unless a limit ends the search. Nothing is printed. Solvers work to tolerances (rows to 1e-7 absolute, whole numbers
// to 1e-6): scale rows and costs to about 1, and recompute the answer's cost from its whole numbers.
#pragma once

#include <atomic>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace orrery::base {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Mip {
 public:
  struct Term {
    int column = 0;
    double factor = 0;
  };

  // Both return the index of what was added. Columns of a row must exist; a column may occur in several terms of a row.
  int add_column(double lower, double upper, double cost, bool whole = false);
  int add_row(std::span<const Term> terms, double lower, double upper);

  int columns() const { return static_cast<int>(lower_.size()); }
  int rows() const { return static_cast<int>(row_lower_.size()); }

  enum class Status { kOptimal, kInfeasible, kUnbounded, kStopped };
  struct Limits {
    double seconds = 0;         // 0: none
    double gap = 0;             // relative; 0: to the solver's tolerance
    double cutoff = kInfinity;  // costs above it need not be found
    const std::atomic<bool>* stop = nullptr;
  };
  struct Solution {
    Status status = Status::kStopped;  // kInfeasible: there is none, or none up to the cutoff
    std::vector<double> values;        // empty: none found
    double cost = kInfinity;
    double bound = -kInfinity;  // no solution costs less
    long nodes = 0;
  };
  Solution minimise(const Limits& limits) const;
  Solution minimise() const { return minimise(Limits{}); }

 private:
  std::vector<double> lower_, upper_, cost_;
  std::vector<char> whole_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<int> row_start_ = {0};
  std::vector<Term> terms_;
};

// The solver behind it and its version: "CBC 2.10.8".
std::string mip_solver();

}  // namespace orrery::base
