// What `orrery sparse` may spend, and what is said where that was not enough.
#pragma once

#include <new>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/cost/budget.h"
#include "orrery/sparse/unfinished.h"

namespace orrery::scenario {

// Steps of an answer, each done or left out as a whole.
class LimitedSteps {
 public:
  explicit LimitedSteps(const cost::Budget& budget) : budget_(&budget) {}

  // False where the limits, or memory that is not there, ended `work` or left it no time: what it made is not to be
  // used, and `what` is among what is unfinished.
  template <class Work>
  bool run(const std::string& what, const Work& work) {
    try {
      sparse::demand(*budget_);
      work();
      return true;
    } catch (const sparse::Unfinished&) {
    } catch (const std::bad_alloc&) {
      budget_->run_out_of_memory();
    }
    leave(what);
    return false;
  }
  void leave(const std::string& what) { unfinished_.push_back(what); }
  const std::vector<std::string>& unfinished() const { return unfinished_; }

 private:
  const cost::Budget* budget_;
  std::vector<std::string> unfinished_;
};

// Throws InputError O1840 where `bytes` are more than may be held at once.
void demand_room(const cost::Budget& budget, double bytes, const std::string& what);

// O1841: what the limits left out; an error where that is all, else a warning.
base::Diagnostics limits_reached(const std::vector<std::string>& unfinished, bool all, const cost::Limits& limits);

}  // namespace orrery::scenario
