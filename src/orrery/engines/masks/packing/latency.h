// The latency models that Sanger publishes for its array: an attention layer of 768 features, in milliseconds.
//
// `density` is the share of scores that is kept (Sanger's files call it sparsity), `load_balance` the share of PE slots
// that compute something.
//
//   v1: the operations of the projections at the array's peak, and those of scores, values and output projection at
//       density / load balance of it.
//   v2: scores and values as tiles of a 64 x 64 array that fill and drain, n = 4 s density / load balance columns of
//       them; the projections as in v1.
//
// left_out() names what neither counts. Both are kept as they were published: as the reference to compare with.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::masks {

struct LatencyQuestion {
  base::Count seq_len = 512;
  double density = 0, load_balance = 0;  // both in (0, 1]
};

double latency_v1_ms(const LatencyQuestion& question);
double latency_v2_ms(const LatencyQuestion& question);

// What a model leaves out or counts otherwise than the array would, a sentence each.
std::vector<std::string> left_out_of_v1();
std::vector<std::string> left_out_of_v2();

}  // namespace orrery::masks
