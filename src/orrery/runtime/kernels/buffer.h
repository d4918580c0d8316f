// Memory for tensors and scratch: aligned to cache lines, uninitialised, in huge pages where the system has them (large
// products gain a tenth by that: their rows are far apart, and each needs its own entry in the processor's table of
// pages).
#pragma once

#include <cstddef>
#include <utility>

namespace orrery::kernels {

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);  // throws std::bad_alloc
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer();

  // At least so many bytes; what was held is lost when it must grow.
  void reserve(std::size_t bytes) {
    if (bytes > bytes_) *this = Buffer(bytes);
  }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace orrery::kernels
