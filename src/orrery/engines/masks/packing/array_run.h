// The array executed: control words to attention outputs, cycle by cycle in plain C++, in double precision.
#pragma once

#include "orrery/engines/masks/packing/control_words.h"

namespace orrery::masks {

// Queries, keys and values of every matrix, [matrix][token][size].
struct ArrayOperands {
  const double* query = nullptr;
  const double* key = nullptr;
  const double* value = nullptr;
  Count queries = 0, keys = 0, size = 0;
  double scale = 1;  // of a score, applied to the queries
};

// What leaves the array, added up over blocks: for each query of each matrix the values weighted by exp(score), and the
// sum of these weights. An output is the one divided by the other.
struct ArrayOutputs {
  std::vector<double> weighted;  // [matrix][query][size]
  std::vector<double> sums;      // [matrix][query]
};

ArrayOutputs run_on_array(const Packing& packing, Count matrices, const ArrayOperands& operands);

}  // namespace orrery::masks
