// Which elements dropout drops: a pure function of a seed, a stream and the element's place, so that the backward pass
// asks again instead of keeping a mask, and so that threads, blocks and instruction sets do not matter.
//
// Numbers come from Philox 4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): ten rounds
// of multiplication make 128 random bits of a counter and a key. One call serves eight elements with 16 bits each: an
// element is dropped when its number is below threshold = 65536 p, rounded. The probability is so met within 2^-17;
// what is kept is multiplied by 1 / (1 - threshold / 65536), with which the expectation is right exactly.
//
// Columns are dealt in groups of 128: counter i of a group's 16, word w and half h of its result belong to column
// 16 (2 w + h) + i, so that vectors of 4, 8 or 16 lanes read neighbouring columns from neighbouring counters.
#pragma once

#include <array>
#include <cstdint>

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// probability from 0 up to, but not, 1 (checked). Each use of dropout in a step of training takes a stream of its own.
DropPattern drop_pattern(double probability, std::uint64_t seed, std::uint32_t stream);

// Whether the pattern keeps the element: the definition, one element at a time. Kernels compute the same for whole
// rows.
bool keeps(const DropPattern& pattern, std::uint64_t row, std::uint64_t column);

}  // namespace orrery::kernels
