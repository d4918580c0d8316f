// What `orrery sparse` may spend, and what is said where that was not enough.
#pragma once

#include <new>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::verbs {

// Steps of an answer, each done or left out as a whole.
class LimitedSteps {
 public:
  explicit LimitedSteps(const base::Budget& budget) : budget_(&budget) {}

  // False where the limits, or memory that is not there, ended `work` or left it no time: what it made is not to be
  // used, and `what` is among what is unfinished.
  template <class Work>
  bool run(const std::string& what, const Work& work) {
    try {
      masks::demand(*budget_);
      work();
      return true;
    } catch (const masks::Unfinished&) {
    } catch (const std::bad_alloc&) {
      budget_->run_out_of_memory();
    }
    leave(what);
    return false;
  }
  void leave(const std::string& what) { unfinished_.push_back(what); }
  const std::vector<std::string>& unfinished() const { return unfinished_; }

 private:
  const base::Budget* budget_;
  std::vector<std::string> unfinished_;
};

// Throws InputError O1840 where `bytes` are more than may be held at once.
void demand_room(const base::Budget& budget, double bytes, const std::string& what);

// O1841: what the limits left out; an error where that is all, else a warning.
base::Diagnostics limits_reached(const std::vector<std::string>& unfinished, bool all, const base::Limits& limits);

}  // namespace orrery::verbs
