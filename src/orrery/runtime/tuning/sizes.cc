#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

using base::Count;

Sizes Sizes::encoder(Count batch, Count length, Count heads, Count width, Count hidden) {
  Sizes sizes;
  sizes['b'] = batch;
  sizes['j'] = sizes['k'] = length;
  sizes['h'] = heads;
  sizes['p'] = heads == 0 ? 0 : width / heads;
  sizes['i'] = width;
  sizes['u'] = hidden;
  sizes['q'] = 3;
  sizes['v'] = 2;
  return sizes;
}

Count Sizes::words(std::string_view dims) const {
  Count words = 1;
  for (const char letter : dims) words = base::checked_multiply(words, (*this)[letter]);
  return words;
}

}  // namespace orrery::tuning
