// Fixed-point numbers as hardware has them: W bits in two's complement, of which P behind the point. Values are held
// sign-extended in 64 bits. Sums and products keep their low W bits; a product loses P bits by flooring.
#pragma once

#include <cstdint>

namespace orrery::accelerator {

struct FixedPoint {
  int bits = 32, point = 16;  // bits <= 32, so that a product fits 64

  // The low bits of x as a signed number.
  std::int64_t wrapped(std::int64_t x) const {
    const int unused = 64 - bits;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused;
  }
  std::int64_t product(std::int64_t a, std::int64_t b) const { return wrapped((a * b) >> point); }
  double real(std::int64_t x) const { return static_cast<double>(x) / static_cast<double>(std::int64_t{1} << point); }
};

}  // namespace orrery::accelerator
