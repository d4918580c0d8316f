// Random numbers of the searches for packings: the same on every machine, in any order of heads.
#pragma once

#include <cmath>
#include <cstdint>

namespace orrery::masks {

// splitmix64 (Steele, Lea and Flood 2014).
class PackRandom {
 public:
  explicit PackRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // From 0 to count - 1; count is far below 2^32, so that the bias does not matter.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32) * std::uint64_t{count}) >> 32);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  // Whether a change that costs `loss` is taken at a temperature (Metropolis).
  bool accepts(double loss, double temperature) {
    return loss <= 0 || (loss < 20 * temperature && unit() < std::exp(-loss / temperature));
  }

 private:
  std::uint64_t state_;
};

}  // namespace orrery::masks
