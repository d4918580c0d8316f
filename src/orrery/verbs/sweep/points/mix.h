// SplitMix64's mixing (Steele, Lea, Flood, 2014): numbers beside each other become numbers that have nothing in common.
#pragma once

#include <cstdint>

namespace orrery::sweep {

inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace orrery::sweep
