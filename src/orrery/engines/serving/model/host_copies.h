// Keys and values that come back from the host's memory, in closed form: what a request waits for them.
#pragma once

#include "orrery/engines/serving/model/kv_memory.h"
#include "orrery/engines/serving/model/load.h"
#include "orrery/engines/serving/model/waiting.h"

namespace orrery::serving {

struct HostCopies {
  double seconds = 0;    // that the link takes for a request's; 0: it has none
  bool in_step = false;  // in which its prompt is read; else before that, one request after the other

  double apart() const { return in_step ? 0 : seconds; }
  double beside() const { return in_step ? seconds : 0; }
};

// Of the load's `host_hit`; infinite where the accelerator states no link to the host.
HostCopies host_copies(const KvMemory& memory, const Deployment& deployment, const machine::Accelerator& accelerator,
                       const Load& load);

// Of requests that come at `rate` to a link that takes `seconds` for each, one after the other: until theirs are there.
void add_copies(double rate, double seconds, double variation, Spread& out);

// Of `users`, those that do not wait for copies: v + X(v) `seconds` = users, X the requests a second that v reach, of
// which the link passes 1 / `seconds` at most. `rate`: X, which rises.
template <class Rate>
double beside_copies(double users, double seconds, const Rate& rate) {
  if (!(seconds > 0)) return users;
  constexpr int kBisections = 40;
  double low = 0, high = users;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2, x = rate(middle);
    (x * seconds < 1 && middle + x * seconds < users ? low : high) = middle;
  }
  return high;
}

}  // namespace orrery::serving
