#include "orrery/runtime/layer/profile.h"

#include <chrono>

namespace orrery::layer {
namespace {

constexpr std::size_t kRoom = 256;  // operators, before memory must grow

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Profile::Profile() {
  operators_.reserve(kRoom);
  clear();
}

void Profile::clear() {
  operators_.clear();
  begin_ = clock_seconds();
}

double Profile::now() const {
  return clock_seconds() - begin_;
}

void Profile::add(Operator op) {
  op.seconds = now() - op.start;
  operators_.push_back(op);
}

}  // namespace orrery::layer
