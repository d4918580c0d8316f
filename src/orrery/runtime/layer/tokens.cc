#include "orrery/runtime/layer/tokens.h"

#include <cstring>

namespace orrery::layer {

void Tokens::reserve(Index batch, Index length) {
  lengths_.reserve(static_cast<std::size_t>(batch));
  starts_.reserve(static_cast<std::size_t>(batch));
  positions_.reserve(static_cast<std::size_t>(batch * length));
}

void Tokens::set(Index batch, Index length, const Index* lengths, Index offset) {
  batch_ = batch, length_ = length, rows_ = 0;
  lengths_.clear();
  starts_.clear();
  positions_.clear();
  for (Index b = 0; b < batch; ++b) {
    lengths_.push_back(lengths == nullptr ? length : lengths[b]);
    starts_.push_back(rows_);
    rows_ += lengths_.back();
    for (Index i = 0; i < lengths_.back(); ++i) positions_.push_back(i + offset);
  }
}

void Tokens::gather(kernels::Context& context, const void* padded, void* rows, std::size_t bytes) const {
  context.pool().run(batch_, [&](Index b, int) {
    const auto from = static_cast<std::size_t>(b * length_), to = static_cast<std::size_t>(starts_[b]);
    if (lengths_[b] == 0) return;
    std::memcpy(static_cast<char*>(rows) + to * bytes, static_cast<const char*>(padded) + from * bytes,
                static_cast<std::size_t>(lengths_[b]) * bytes);
  });
}

void Tokens::scatter(kernels::Context& context, const void* rows, void* padded, std::size_t bytes) const {
  context.pool().run(batch_, [&](Index b, int) {
    char* to = static_cast<char*>(padded) + static_cast<std::size_t>(b * length_) * bytes;
    const std::size_t held = static_cast<std::size_t>(lengths_[b]) * bytes;
    if (held != 0) std::memcpy(to, static_cast<const char*>(rows) + static_cast<std::size_t>(starts_[b]) * bytes, held);
    std::memset(to + held, 0, static_cast<std::size_t>(length_) * bytes - held);
  });
}

}  // namespace orrery::layer
