// What `tune run` is asked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/types.h"
#include "orrery/runtime/layer/shape.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

struct TuneRunRequest {
  LayerRequest layer;
  bool training = false;
  layer::Dropout dropout;
  std::optional<base::Count> iterations, warmup;  // default: until some seconds have passed; a tenth of them
  std::uint64_t seed = 0;
  // A layout file: the layer runs operator by operator as it says. Empty: by the machine's plan where there is one,
  // else as built in; "built-in": so in any case.
  std::string layout;
  bool test = false;
  kernels::Type test_type = kernels::Type::kF64;
  bool tensors = false;                                     // keep those of the test
  base::Limits limits = {.memory = 0};                      // threads <= 0: all cores
  std::function<const std::atomic<bool>*()> interruptible;  // called before what may take long
  std::function<void(std::size_t done)> measuring;          // after each iteration
};

}  // namespace orrery::verbs
