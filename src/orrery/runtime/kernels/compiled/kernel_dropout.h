// The pattern of dropout.h for whole rows: kLanes counters at once.
#pragma once

#include "orrery/runtime/kernels/compiled/lanes.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {
namespace {

constexpr int kDropGroup = 128;

struct PhiloxLanes {
  U words[4];
};

inline PhiloxLanes philox_lanes(U counter, std::uint64_t row, const DropPattern& pattern) {
  U a = counter, b = all_bits(static_cast<std::uint32_t>(row)), c = all_bits(static_cast<std::uint32_t>(row >> 32)),
    d = all_bits(pattern.stream);
  auto low = static_cast<std::uint32_t>(pattern.seed), high = static_cast<std::uint32_t>(pattern.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const U first_high = multiply_high(a, 0xd2511f53U), first_low = a * 0xd2511f53U;
    const U second_high = multiply_high(c, 0xcd9e8d57U), second_low = c * 0xcd9e8d57U;
    a = second_high ^ b ^ low;
    b = second_low;
    c = first_high ^ d ^ high;
    d = first_low;
    low += 0x9e3779b9U;
    high += 0xbb67ae85U;
  }
  return {{a, b, c, d}};
}

// Groups [first, end) of the row: eight words of 16 bits each.
inline void kept_groups(const DropPattern& pattern, std::uint64_t row, Index first, Index end, std::uint16_t* bits) {
  if (pattern.threshold == 0) {
    for (Index i = 0; i < (end - first) * 8; ++i) bits[i] = 0xffffU;
    return;
  }
  std::uint32_t ramp[kLanes];
  for (int i = 0; i < kLanes; ++i) ramp[i] = static_cast<std::uint32_t>(i);
  for (Index group = first; group < end; ++group) {
    std::uint32_t dropped[8] = {};
    for (int part = 0; part < 16; part += kLanes) {
      const U counter = load(ramp) + static_cast<std::uint32_t>(group * 16 + part);
      const PhiloxLanes random = philox_lanes(counter, row, pattern);
      for (int w = 0; w < 4; ++w) {
        dropped[2 * w] |= below(random.words[w] & 0xffffU, pattern.threshold) << part;
        dropped[2 * w + 1] |= below(random.words[w] >> 16, pattern.threshold) << part;
      }
    }
    for (const std::uint32_t word : dropped) *bits++ = static_cast<std::uint16_t>(~word);
  }
}

inline void kept(const DropPattern& pattern, std::uint64_t row, Index columns, std::uint16_t* bits) {
  kept_groups(pattern, row, 0, (columns + kDropGroup - 1) / kDropGroup, bits);
}

// The factors of columns [column, column + kLanes) from bits that begin at a multiple of kDropGroup: scale or 0.
// Multiplied, not selected: a NaN that is dropped stays one.
inline F drop_factors(const std::uint16_t* bits, Index column, float scale) {
  return where_bits(static_cast<std::uint32_t>(bits[column / 16] >> column % 16), all(scale), F{});
}

}  // namespace
}  // namespace orrery::kernels
