// What `tune bench` answers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/sizes.h"
#include "orrery/verbs/tune/processor_share.h"

namespace orrery::verbs {

// One benchmark.
struct Benched {
  std::string name;
  bool contraction = false;
  base::Count configurations = 0;  // that there are
  std::size_t measured = 0;        // of them, those whose time is known
  std::size_t runs = 0;            // that these needed: configurations that run alike are run once
  double best_ms = 0, worst_ms = 0;
  std::string best;        // the fastest
  double model_error = 0;  // relative, of a kernel's cost model
};

struct TunedBench {
  tuning::Sizes sizes;
  std::string processor, isa, dtype;
  int threads = 0;
  std::vector<Benched> benchmarks;
  std::size_t resumed = 0;      // measurements that were there
  double interval = 0;          // median over measurements: half the interval of the median, relative
  double frequency_spread = 0;  // of a fixed piece of arithmetic, slowest to fastest, relative
  ProcessorShare got;
  // Of a whole layer: the best choice of layouts by what was measured, and what could be less by the models' errors.
  double best_ms = 0, bound_ms = 0;
  double built_in_ms = 0;  // the layer as it is built in, forward and backward
  std::size_t rounds = 0;
  bool complete = false;  // nothing that was not measured can win more than `kWorth` of the whole
  bool ended_early = false;
  base::Diagnostics warnings;
};

inline constexpr double kWorth = 0.003;

// By how much a row may be slower than its kernel's fastest one and still be of use. A measurement may come out below
// the bound that its model gave: the fastest rows stay.
inline double slack_above(double bound, double best) {
  return std::max(0.0, best - bound);
}

}  // namespace orrery::verbs
