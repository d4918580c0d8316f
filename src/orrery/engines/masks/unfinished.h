// How the limits end what is of no use half done: a mask, a packing, a figure.
#pragma once

#include <exception>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"

namespace orrery::masks {

// Thrown where a budget ends a computation; nothing of it is kept.
struct Unfinished : std::exception {
  const char* what() const noexcept override { return "the limits ended it"; }
};

inline void demand(const base::Budget& budget) {
  if (budget.spent()) throw Unfinished();
}

// Throws once the budget is spent. It is asked every few million steps only: what is done in milliseconds is done
// whatever the limits are.
class WorkClock {
 public:
  explicit WorkClock(const base::Budget& budget) : budget_(&budget) {}
  void operator()(base::Count steps) {
    if ((done_ += steps) < kBetween) return;
    done_ = 0;
    demand(*budget_);
  }

 private:
  static constexpr base::Count kBetween = base::Count{1} << 22;
  const base::Budget* budget_;
  base::Count done_ = 0;
};

}  // namespace orrery::masks
