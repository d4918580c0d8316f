#include "orrery/runtime/kernels/context.h"

#include <unistd.h>

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::kernels {

namespace {

Index second_level_cache() {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return std::clamp<Index>(bytes, Index{256} << 10, Index{2} << 20);
#endif
  return Index{512} << 10;
}

}  // namespace

Context::Context(int threads, Level level)
    : pool_(threads), table_(table_of(level)), cache_(second_level_cache()), own_(pool_.threads()) {
  ORRERY_CHECK(table_ != nullptr, "kernels of this level are not in this program");
  choice_ = &choice_at(level);
}

std::uint32_t* Context::shared(Index units) {
  shared_.reserve(static_cast<std::size_t>(units) * 4);
  return static_cast<std::uint32_t*>(shared_.data());
}

void Context::reserve_own(Index units) {
  for (Buffer& own : own_) own.reserve(static_cast<std::size_t>(units) * 4);
}

}  // namespace orrery::kernels
