#include "orrery/runtime/layer/arena.h"

#include <algorithm>

namespace orrery::layer {
namespace {

constexpr std::size_t kLine = 64;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

int Arena::add(std::size_t bytes) {
  tensors_.push_back({whole_lines(bytes)});
  return static_cast<int>(tensors_.size()) - 1;
}

void* Arena::at(int tensor) {
  Tensor& t = tensors_[static_cast<std::size_t>(tensor)];
  if (planning_) {
    if (t.first < 0) t.first = step_;
    t.last = step_;
    return this;  // an address to count from; nothing reads it
  }
  return static_cast<char*>(t.kept ? memory_.data() : workspace_->memory.data()) + t.offset;
}

// The lowest address at which the tensor overlaps none of those that live when it does.
std::size_t Arena::room_below(const Tensor& tensor, const std::vector<const Tensor*>& placed) const {
  std::vector<const Tensor*> others;
  for (const Tensor* other : placed) {
    if (other->first <= tensor.last && tensor.first <= other->last) others.push_back(other);
  }
  std::sort(others.begin(), others.end(), [](const Tensor* a, const Tensor* b) { return a->offset < b->offset; });
  std::size_t at = 0;
  for (const Tensor* other : others) {
    if (at + tensor.bytes <= other->offset) break;
    at = std::max(at, other->offset + other->bytes);
  }
  return at;
}

void Arena::place() {
  planning_ = false;
  std::vector<Tensor*> passing;
  for (Tensor& t : tensors_) {
    if (t.first < 0) continue;
    t.kept = t.first < boundary_ && t.last >= boundary_;
    if (t.kept) {
      t.offset = kept_;
      kept_ += t.bytes;
    } else {
      passing.push_back(&t);
    }
  }
  std::stable_sort(passing.begin(), passing.end(),
                   [](const Tensor* a, const Tensor* b) { return a->bytes > b->bytes; });
  std::vector<const Tensor*> placed;
  for (Tensor* t : passing) {
    t->offset = room_below(*t, placed);
    passing_ = std::max(passing_, t->offset + t->bytes);
    placed.push_back(t);
  }
}

void Arena::take(std::shared_ptr<Workspace> workspace) {
  memory_ = kernels::Buffer(kept_);
  workspace_ = workspace == nullptr ? std::make_shared<Workspace>() : std::move(workspace);
  workspace_->memory.reserve(passing_);
}

}  // namespace orrery::layer
