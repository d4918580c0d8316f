// What an exchange level holds at most at once, over the depth of a loop tree.
#pragma once

#include <vector>

#include "orrery/engines/fused/model/evaluate.h"

namespace orrery::fused {

// What one branch holds in one storage: words of its own tiles by the number of fused loops above them, and the loops.
struct Private {
  std::vector<double> bits;  // [depth], 0 .. fused loops; the last one has all further in
  int fused = 0;
};

// A tensor that lives in the storage from one branch to another.
struct Living {
  double bits = 0;
  int depth = 0;
  int first = 0;
  int last = 0;
};

// `shared[i]`: open loops between branch i - 1 and branch i.
Peak peak(const std::vector<Private>& branches, const std::vector<Living>& tensors, const std::vector<int>& shared);

}  // namespace orrery::fused
