// AdamW, clipping, and the schedule of the learning rate.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::network {

struct AdamWOptions {
  double rate = 5e-5;  // the largest learning rate
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double decay = 0;  // of weights, decoupled: w -= rate * decay * w
};

// The moments of every parameter, in the order of list().
struct AdamWState {
  std::int64_t steps = 0;
  std::vector<std::vector<float>> first, second;
};

// One step at a learning rate. The state is made at the first one. Deterministic for any number of threads.
void adamw_step(kernels::Context& context, const std::vector<Parameter>& parameters,
                const std::vector<Parameter>& gradients, const AdamWOptions& options, double rate, AdamWState& state);

// The norm of all gradients together; they are scaled so that it is at most `most` (0: left alone).
double clip(kernels::Context& context, const std::vector<Parameter>& gradients, double most);

// From 0 up to `rate` in `warmup` steps, then straight down to 0 at `steps`; step counts from 0.
double linear_rate(double rate, std::int64_t step, std::int64_t warmup, std::int64_t steps);

}  // namespace orrery::network
