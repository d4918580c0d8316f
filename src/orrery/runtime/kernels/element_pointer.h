// Pointers to elements of matrices that are of a type known when the program runs.
#pragma once

#include <cstdint>

#include "orrery/runtime/kernels/types.h"

namespace orrery::kernels {

// `data` so many elements further; null where it is null.
inline void* moved(void* data, Type type, std::int64_t elements) {
  return data == nullptr ? nullptr : static_cast<char*>(data) + elements * bytes_of(type);
}
inline const void* moved(const void* data, Type type, std::int64_t elements) {
  return moved(const_cast<void*>(data), type, elements);
}

}  // namespace orrery::kernels
