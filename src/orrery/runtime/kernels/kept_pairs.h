// Which pairs of a query and a key attention computes, where it does not compute all: bits of elements or of blocks, or
// lists of keys.
#pragma once

#include <cstdint>

#include "orrery/runtime/kernels/function_table.h"

namespace orrery::kernels {

// What is kept is computed where it is visible too (lengths, window, bias). A query without any kept key that it sees
// has output 0, as one that sees no key.
struct KeptPairs {
  // The words of query j of head h in batch b begin at bits[b * batch + h * head + j / block * row], strides in words;
  // a stride of 0 repeats a mask. Bit c % 64 of word c / 64 stands for the keys [c * block, (c + 1) * block), so that a
  // bit is `block` queries by `block` keys. Bits beyond the last key are not looked at, but their words are read.
  const std::uint64_t* bits = nullptr;
  Index batch = 0, head = 0, row = 0;
  Index block = 1;  // or 16, 32, 64
  // Or, where `bits` is null: query j of head h in batch b, r = (b * heads + h) * queries + j, has the keys
  // columns[starts[r]] up to columns[starts[r + 1]], excluded, rising.
  const Index* starts = nullptr;
  const std::int32_t* columns = nullptr;
};

}  // namespace orrery::kernels
