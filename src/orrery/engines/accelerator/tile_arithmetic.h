// What the machine computes, without its cycles: the same numbers to the last bit, by direct indexing.
//
// Sums in the sparse array wrap at a width that faults() has shown to suffice, so that the order in which its chain
// adds does not matter; where order does (a row's statistics, the merging of blocks), it is the machine's. Inputs are
// rounded half to even and saturated; queries are then multiplied by the scale of scores, as whole numbers:
//
//   q' = (q round(scale 2^(p' - p) 2^15) + 2^14) >> 15          p': scaled_point()
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/engines/accelerator/units/merger_arithmetic.h"
#include "orrery/engines/accelerator/units/row_codes.h"
#include "orrery/engines/accelerator/units/score_unit.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::accelerator {

// `count` floats as fixed-point numbers; how many did not fit.
Count fixed_numbers(const FixedPoint& format, const float* from, Count count, std::int32_t* into);

// What queries are multiplied by as they are loaded, 15 bits behind the point.
std::int64_t query_multiplier(const Instance& instance, double scale);
inline std::int32_t scaled_query(std::int64_t multiplier, std::int32_t x) {
  return static_cast<std::int32_t>((x * multiplier + (1 << 14)) >> 15);
}

// Codes and factors of rows [rows][depth].
struct CodedRows {
  std::vector<std::int8_t> codes;
  std::vector<std::uint64_t> factors;
  Count clipped = 0;
};
CodedRows coded_rows(const QuantiserConstants& constants, const std::int32_t* rows, Count count, Count depth);

// Predicted scores of a query against its tile's keys, a threshold, and what it keeps. `keys`: of the tile; `there`:
// the keys that this query may see, as words of a mask; `kept` as `there`. `scores`: room for the keys.
void predict_row(const Instance& instance, const ScoreUnit& unit, const CodedRows& queries, Count query,
                 const CodedRows& key_rows, Count keys, Count depth, const masks::Word* there, masks::Word* kept,
                 std::int32_t* scores, Count& saturated);

// A PE row of a block: the scaled query against the keys on its ports.
class RowArithmetic {
 public:
  RowArithmetic(const Instance& instance, double scale, Count depth);

  // Largest score, sum of exponentials and weighted values. `count` at least 1; keys and values [key][depth].
  struct Result {
    std::int64_t most = 0, sum = 0;
  };
  Result run(const std::int32_t* query, const std::int32_t* keys, const std::int32_t* values, const std::int32_t* of,
             Count count, std::int64_t* elements);

 private:
  SignedExpUnit unit_;
  Count depth_;
  int score_shift_, value_shift_;
  bool narrow_;  // products fit 32 bits
  std::vector<std::int64_t> scores_;
  std::vector<std::int32_t> sums_;
};

}  // namespace orrery::accelerator
