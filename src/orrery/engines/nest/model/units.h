// What a storage counts in where dataspaces have widths of their own: the most bits that divide its word and all of
// them. Values that are narrower than the word share words and blocks; wider ones take several. Where no dataspace has
// a width, or all have the word's, a unit is a word.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest {

struct Units {
  base::Count word = 1;                           // units of a word
  std::array<base::Count, kMaxDataspaces> value;  // units of a value of each dataspace

  Units() { value.fill(1); }
};

inline Units units_of(const workload::Einsum& einsum, int word_bits) {
  const base::Count word = std::max(1, word_bits);
  base::Count unit = word;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) unit = std::gcd(unit, dataspace.bits);
  Units units;
  units.word = word / unit;
  for (std::size_t s = 0; s < std::min(einsum.dataspaces.size(), units.value.size()); ++s)
    units.value[s] = (einsum.dataspaces[s].bits > 0 ? einsum.dataspaces[s].bits : word) / unit;
  return units;
}

}  // namespace orrery::nest
