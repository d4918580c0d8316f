// Widths, cycles and memories that follow from what is built; docs/model/sparse_array.md derives each.
#include <algorithm>
#include <bit>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/accelerator/simulate.h"
#include "orrery/engines/accelerator/units/row_codes.h"
#include "orrery/engines/accelerator/units/signed_exp_unit.h"

namespace orrery::accelerator {
namespace {

// Bits that n values need.
int bits_for(Count n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<Count>(n - 1, 0))));
}

}  // namespace

int scaled_point(const Instance& instance, double scale) {
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);  // 2^(exponent - 1) <= scale < 2^exponent
  const int zeros = mantissa == 0.5 ? 1 - exponent : -exponent;
  return std::min(instance.numbers.query.point + zeros, instance.numbers.sum.point);
}

Widths widths(const Instance& instance) {
  const Numbers& numbers = instance.numbers;
  Widths w;
  w.code_sum = 2 * instance.code_bits + bits_for(instance.depth);
  w.square_sum =
      2 * (std::max(numbers.query.bits, numbers.key.bits) - 1) + bits_for(instance.depth) + 1 + 2 * kNormExtra;
  w.norm = (w.square_sum + 1) / 2;
  w.multiplier_a = std::max(numbers.query.bits, numbers.sum.point + 2);
  w.multiplier_b = std::max(numbers.key.bits, numbers.value.bits);
  w.product = w.multiplier_a + w.multiplier_b;
  w.quotient = kQuotientBits;
  w.query_number = bits_for(instance.query_rows);
  w.key_number = std::max(bits_for(instance.key_tokens), bits_for(instance.score_keys));
  return w;
}

Timing timing(const Instance& instance, Count depth) {
  const masks::PackArray& array = instance.array;
  Timing t;
  t.quantise_row = base::ceil_divide(depth, instance.quantiser_lanes);
  t.quantise_tail = widths(instance).norm + kQuotientBits + 1 + t.quantise_row;
  t.predict_pass = 1 + (depth + instance.prediction_width + array.rows - 1) + instance.prediction_width;
  t.predict_tail = 1 + array.rows;
  t.prepare = array.ports;
  t.scores = t.values = depth + array.ports + array.rows - 1;
  t.drain = array.pes;
  const Count chunks = base::ceil_divide(depth, instance.merge_lanes);
  t.merge = 1 + array.rows * chunks;
  t.normalise_row = chunks;
  t.normalise_tail = kReciprocalBits;
  return t;
}

Count transfer_cycles(const Instance& instance, Count bytes) {
  return std::max<Count>(1, base::saturated(std::ceil(static_cast<double>(bytes) / instance.bytes_per_cycle())));
}

Memories memories(const Instance& instance) {
  const masks::PackArray& array = instance.array;
  const Numbers& numbers = instance.numbers;
  const Widths w = widths(instance);
  Memories all;
  const auto put = [&](Memory memory, Count words, Count width, Count banks) {
    all[static_cast<std::size_t>(memory)] = {words, width, banks, 0, 0};
  };
  const Count depth = instance.depth;
  put(Memory::kQueries, instance.query_rows, depth * numbers.query.bits, 2);
  put(Memory::kKeys, instance.key_tokens, depth * numbers.key.bits, 2);
  put(Memory::kValues, instance.key_tokens, depth * numbers.value.bits, 2);
  // Codes of a token and its factor: keys of two matrices, queries of two tiles.
  put(Memory::kCodes, instance.score_keys + array.rows, depth * instance.code_bits + w.factor, 2);
  put(Memory::kScores, instance.score_keys, array.rows * numbers.score.bits, 1);
  put(Memory::kBlocks, array.ports, array.rows + w.key_number, instance.block_slots);
  put(Memory::kPortKeys, array.ports, depth * numbers.key.bits, 2);
  put(Memory::kPortValues, array.ports, depth * numbers.value.bits, 2);
  put(Memory::kOutputs, array.rows, (depth + 2) * numbers.sum.bits, 2);
  put(Memory::kAccumulators, instance.query_rows, (depth + 2) * numbers.accumulator_bits, 1);
  return all;
}

const char* name_of(Unit unit) {
  constexpr const char* kNames[kUnits] = {"memory", "quantiser", "predictor", "packer", "preparer", "array", "merger"};
  return kNames[static_cast<std::size_t>(unit)];
}

const char* name_of(Memory memory) {
  constexpr const char* kNames[kMemories] = {"queries", "keys",      "values",      "codes",   "scores",
                                             "blocks",  "port_keys", "port_values", "outputs", "accumulators"};
  return kNames[static_cast<std::size_t>(memory)];
}

}  // namespace orrery::accelerator
