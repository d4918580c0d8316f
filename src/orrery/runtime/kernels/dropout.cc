#include "orrery/runtime/kernels/dropout.h"

#include "orrery/base/diagnostics/check.h"

namespace orrery::kernels {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd2511f53U} * counter[0];
    const std::uint64_t second = std::uint64_t{0xcd9e8d57U} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9e3779b9U;
    key[1] += 0xbb67ae85U;
  }
  return counter;
}

DropPattern drop_pattern(double probability, std::uint64_t seed, std::uint32_t stream) {
  ORRERY_CHECK(probability >= 0 && probability < 1, "a probability of dropout is at least 0 and less than 1");
  DropPattern pattern{seed, stream, static_cast<std::uint32_t>(probability * 65536 + 0.5), 1};
  if (pattern.threshold > 65535) pattern.threshold = 65535;
  pattern.scale = static_cast<float>(65536.0 / (65536 - pattern.threshold));
  return pattern;
}

bool keeps(const DropPattern& pattern, std::uint64_t row, std::uint64_t column) {
  const auto group = static_cast<std::uint32_t>(column / 128);
  const auto place = static_cast<std::uint32_t>(column % 128);
  const auto bits = philox(
      {group * 16 + place % 16, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), pattern.stream},
      {static_cast<std::uint32_t>(pattern.seed), static_cast<std::uint32_t>(pattern.seed >> 32)});
  const std::uint32_t word = bits[place / 32];
  return (place / 16 % 2 == 0 ? word & 0xffffU : word >> 16) >= pattern.threshold;
}

}  // namespace orrery::kernels
