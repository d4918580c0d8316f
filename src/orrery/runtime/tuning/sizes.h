// How long the dimensions of a layer are. A dimension is a letter, a tensor's shape or layout is a string of letters,
// the leftmost slowest in memory; letters are those of Substation (MLSys 2021):
//   b sequences, j positions of queries, k positions of keys, h heads, p elements of a head, i width of a token, u
//   width of the network, q the stack of keys, queries and values (always 3), v the stack of keys and values (always
//   2).
#pragma once

#include <array>
#include <string_view>

#include "orrery/base/numbers/count.h"

namespace orrery::tuning {

class Sizes {
 public:
  // Of an encoder: keys are as many as queries, heads times their elements are the width.
  static Sizes encoder(base::Count batch, base::Count length, base::Count heads, base::Count width, base::Count hidden);

  base::Count& operator[](char letter) { return counts_.at(static_cast<std::size_t>(letter - 'a')); }
  base::Count operator[](char letter) const { return counts_.at(static_cast<std::size_t>(letter - 'a')); }

  // Words of a tensor with these dimensions; 1 without any. Throws base::OverflowError.
  base::Count words(std::string_view dims) const;

  friend bool operator==(const Sizes&, const Sizes&) = default;

 private:
  std::array<base::Count, 26> counts_{};  // 0: a letter that is not in use
};

}  // namespace orrery::tuning
