// What a driver writes into the quantiser's registers: a clip threshold T and a score's scale as whole numbers.
//
// With n = 2^(code bits - 1) - 1, inputs with p bits behind the point, norms with p + 4:
//
//   codes     n / T = reciprocal 2^-shift,   reciprocal of 16 bits: 2^15 to 2^16
//   factors   a row's part of a score, N T / n (for queries times the scale), gets `factor_point` bits behind the
//   point,
//             so many that the largest norm just fits 16 bits;  T / n = factor 2^(4 + p - factor_point - factor_shift)
//
// Both numbers are rounded half up from double precision. A row of zeros has codes and a factor of 0.
#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/accelerator/instance.h"

namespace orrery::accelerator {

// Bits that a norm has behind the point beyond its input's.
inline constexpr int kNormExtra = 4;

struct QuantiserConstants {
  int most = 7;    // n
  int point = 10;  // of the input
  int norm_bits = 0;
  std::uint64_t reciprocal = 0;
  int shift = 0;
  std::uint64_t factor = 0;
  int factor_shift = 0, factor_point = 0;
  bool normalise = true;
};

struct PredictionConstants {
  QuantiserConstants query, key;
  int score_shift = 0;         // query.factor_point + key.factor_point - the score's point
  std::int64_t threshold = 0;  // log2 of the threshold, 16 bits behind the point
  Count depth = 0;
};

// Appends O1894 for each threshold that gives no scale, or one that the widths do not hold.
PredictionConstants prediction_constants(const Instance& instance, const Sizes& sizes, bool normalise,
                                         double query_clip, double key_clip, double threshold,
                                         base::Diagnostics& found);

}  // namespace orrery::accelerator
