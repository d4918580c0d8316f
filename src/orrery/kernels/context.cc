#include "orrery/kernels/context.h"

#include "orrery/base/check.h"
#include "orrery/kernels/probe.h"

namespace orrery::kernels {

Context::Context(int threads, Level level) : pool_(threads), table_(table_of(level)), own_(pool_.threads()) {
  ORRERY_CHECK(table_ != nullptr, "kernels of this level are not in this program");
  if (table_->product[static_cast<int>(Arithmetic::kBf16Dot)].elements != 0) {
    // Both count operations on bf16 numbers. On some processors the dot product runs at half the rate of fp32.
    const double dot = operations_per_second(*table_, Arithmetic::kBf16Dot, 1e-4);
    const double wide = operations_per_second(*table_, Arithmetic::kBf16Wide, 1e-4);
    if (dot > wide) bf16_ = Arithmetic::kBf16Dot;
  }
}

std::uint32_t* Context::shared(Index units) {
  shared_.reserve(static_cast<std::size_t>(units) * 4);
  return static_cast<std::uint32_t*>(shared_.data());
}

void Context::reserve_own(Index units) {
  for (Buffer& own : own_) own.reserve(static_cast<std::size_t>(units) * 4);
}

}  // namespace orrery::kernels
