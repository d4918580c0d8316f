// What `tune bench` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::verbs {

struct TuneBenchRequest {
  std::string model;  // catalogue name or path; empty: `sizes`
  std::optional<base::Count> batch, seq;
  std::string sizes;  // "H=16,B=8,...": Substation's letters; what is absent follows from the others, or has a default
  std::string only;   // a kernel or a contraction; empty: all that a layer needs
  std::string folder;
  bool resume = false;
  kernels::Type type = kernels::Type::kF32;  // or kBf16
  base::Limits limits = {.memory = 0};
  std::function<const std::atomic<bool>*()> interruptible;
  std::function<void(const std::string&)> progress;
};

}  // namespace orrery::verbs
