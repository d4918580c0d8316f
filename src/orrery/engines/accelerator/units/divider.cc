#include "orrery/engines/accelerator/units/divider.h"

#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {

Divider::Divider(int bits) : bits_(bits), stages_(static_cast<std::size_t>(bits)) {
  ORRERY_CHECK(bits >= 1 && bits <= 62, "a quotient of 1 to 62 bits");
}

Divider::Result Divider::step(bool there, std::uint64_t dividend, std::uint64_t divisor) {
  Stage in{there, dividend >> bits_, dividend & ((std::uint64_t{1} << bits_) - 1), divisor, 0};
  for (int i = 0; i < bits_; ++i) {
    // What enters stage i now; its register passes on what it had.
    Stage& stage = stages_[static_cast<std::size_t>(i)];
    in.rest = in.rest << 1U | (in.low >> (bits_ - 1 - i) & 1U);
    const bool goes = in.rest >= in.divisor;
    if (goes) in.rest -= in.divisor;
    in.quotient = in.quotient << 1U | (goes ? 1U : 0U);
    std::swap(stage, in);
  }
  const Stage& last = stages_.back();
  return {last.there, last.quotient};
}

SquareRoot::SquareRoot(int bits) : bits_(bits), stages_(static_cast<std::size_t>(bits)) {
  ORRERY_CHECK(bits >= 1 && bits <= 31, "a root of 1 to 31 bits");
}

Divider::Result SquareRoot::step(bool there, std::uint64_t x) {
  Stage in{there, 0, x, 0};
  for (int i = 0; i < bits_; ++i) {
    Stage& stage = stages_[static_cast<std::size_t>(i)];
    in.rest = in.rest << 2U | (in.x >> (2 * (bits_ - 1 - i)) & 3U);
    const std::uint64_t trial = in.root << 2U | 1U;
    const bool goes = in.rest >= trial;
    if (goes) in.rest -= trial;
    in.root = in.root << 1U | (goes ? 1U : 0U);
    std::swap(stage, in);
  }
  const Stage& last = stages_.back();
  return {last.there, last.root};
}

std::uint64_t square_root(std::uint64_t x) {
  auto root = static_cast<std::uint64_t>(base::whole_number(std::sqrt(static_cast<double>(x))).value_or(0));
  while (root * root > x) --root;
  while ((root + 1) * (root + 1) <= x) ++root;
  return root;
}

}  // namespace orrery::accelerator
