#include "orrery/runtime/kernels/buffer.h"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace orrery::kernels {
namespace {

constexpr std::size_t kLineBytes = 64, kHugePage = std::size_t{2} << 20;

std::size_t alignment_of(std::size_t bytes) {
  return bytes >= kHugePage ? kHugePage : kLineBytes;
}

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = ::operator new (bytes, std::align_val_t{alignment_of(bytes)});
#if defined(__linux__)
  // Advice only: where it is refused, small pages do.
  if (bytes >= kHugePage) static_cast<void>(madvise(data_, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
}

Buffer::~Buffer() {
  if (data_ != nullptr) ::operator delete (data_, std::align_val_t{alignment_of(bytes_)});
}

}  // namespace orrery::kernels
