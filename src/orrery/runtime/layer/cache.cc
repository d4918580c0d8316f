#include "orrery/runtime/layer/cache.h"

namespace orrery::layer {

Cache::Cache(const Shape& shape, Index capacity) : batch_(shape.batch), capacity_(capacity) {
  const Index row = 2 * shape.key_width() * bytes_of(shape.type);
  self_ = kernels::Buffer(static_cast<std::size_t>(shape.batch * capacity * row));
  if (shape.cross) memory_ = kernels::Buffer(static_cast<std::size_t>(shape.batch * shape.memory_length * row));
}

}  // namespace orrery::layer
