// What `sparse break-even` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/verbs/sparse/break_even/request.h"

namespace orrery::verbs {

// Milliseconds are medians over turns, the speedup the median of the turns' ratios.
struct BreakEvenPoint {
  std::string structure;
  Count tokens = 0;
  double wanted = 0, density = 0;                      // asked for, and kept
  double dense_ms = 0, predict_ms = 0, sparse_ms = 0;  // sparse_ms: prediction and pruned attention together
  double speedup = 0;
  std::optional<double> pytorch_ms, pytorch_speedup;

  bool pays() const { return speedup > 1 && pytorch_speedup.value_or(2) > 1; }
};

// Below which density a structure pays at a length, between the measured ones by interpolation.
struct BreakEvenLine {
  std::string structure;
  Count tokens = 0;
  std::optional<double> density;  // none of those measured pays: nothing; the densest does: that
  bool beyond = false;            // the densest does: it pays beyond `density` too, perhaps
  std::vector<double> except;     // measured below `density`, where it did not pay
};

struct BreakEven {
  std::vector<BreakEvenPoint> points;  // lengths, structures, densities
  std::vector<BreakEvenLine> lines;
  std::size_t all = 0;  // how many points there would be
  std::string isa, dtype, pytorch_version;
  Count batch = 0, heads = 0, size = 0, turns = 0;
  int threads = 0;
  bool interrupted = false, out_of_time = false;
};

}  // namespace orrery::verbs
