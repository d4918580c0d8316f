// Which arithmetic products of each precision take at a level, where there is more than one: the one whose rate,
// measured once a process, is highest. Results differ in rounding only, and are the same for the same choice.
#pragma once

#include <string>

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

struct Choice {
  Arithmetic fp32 = Arithmetic::kF32;             // or kF32Tiles
  Arithmetic bf16 = Arithmetic::kBf16Wide;        // or kBf16Dot, kBf16Tiles
  Arithmetic bf16_lanes = Arithmetic::kBf16Wide;  // of attention, whose kernels take no tiles
  double rate[kArithmetics] = {};                 // operations a second, one thread; 0: not there, or not measured
};

// Measured when it is first asked for, some milliseconds; kAmxEmulated takes tiles without being measured.
const Choice& choice_at(Level level);

// "fp32", "fp32 of bf16 by vdpbf16ps" and so on.
std::string_view name_of(Arithmetic arithmetic);

// A line for people: the level and what was chosen by which rates.
std::string described(Level level);

}  // namespace orrery::kernels
