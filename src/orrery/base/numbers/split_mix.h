// SplitMix64 (G. Steele, D. Lea, C. Flood 2014): random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace orrery::base {

// Numbers beside each other become numbers that have nothing in common.
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

class SplitMix {
 public:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mixed(state_ += kStep); }

 private:
  std::uint64_t state_;
};

}  // namespace orrery::base
