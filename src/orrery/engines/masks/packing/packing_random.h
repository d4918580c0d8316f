// Random numbers of the searches for packings: the same on every machine, in any order of heads.
#pragma once

#include <cmath>
#include <cstdint>

#include "orrery/base/numbers/split_mix.h"

namespace orrery::masks {

class PackRandom : public base::SplitMix {
 public:
  using SplitMix::SplitMix;
  // From 0 to count - 1; count is far below 2^32, so that the bias does not matter.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{count}) >> 32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  // Whether a change that costs `loss` is taken at a temperature (Metropolis).
  bool accepts(double loss, double temperature) {
    return loss <= 0 || (loss < 20 * temperature && unit() < std::exp(-loss / temperature));
  }
};

}  // namespace orrery::masks
