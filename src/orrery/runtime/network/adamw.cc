// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps), and
// before it w -= rate decay w.
//
// What depends on the step alone is computed in fp64 and rounded once. 1 - b2 from the rounded b2 would be 1.3e-5 off,
// and every step 6e-6 too long: most of what ten steps then differed from fp64 by.
//
// Source: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019, in the order of PyTorch's AdamW.
// Cost: one pass over four tensors of the parameters' size: bound by memory.
#include "orrery/runtime/network/adamw.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/check.h"

namespace orrery::network {
namespace {

constexpr Index kTask = 1 << 15;

Index tasks_of(std::size_t count) {
  return (static_cast<Index>(count) + kTask - 1) / kTask;
}

}  // namespace

void adamw_step(kernels::Context& context, const std::vector<Parameter>& parameters,
                const std::vector<Parameter>& gradients, const AdamWOptions& options, double rate, AdamWState& state) {
  ORRERY_CHECK(parameters.size() == gradients.size(), "a gradient for each parameter");
  if (state.first.empty()) {
    for (const Parameter& parameter : parameters) state.first.emplace_back(parameter.values->size());
    state.second = state.first;
  }
  ++state.steps;
  const double bias1 = 1 - std::pow(options.beta1, static_cast<double>(state.steps));
  const double bias2 = 1 - std::pow(options.beta2, static_cast<double>(state.steps));
  const auto step = static_cast<float>(rate / bias1), root = static_cast<float>(1 / std::sqrt(bias2));
  const auto beta2 = static_cast<float>(options.beta2);
  const auto new1 = static_cast<float>(1 - options.beta1), new2 = static_cast<float>(1 - options.beta2);
  const auto epsilon = static_cast<float>(options.epsilon);
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].learns) continue;
    const float kept = parameters[p].decays ? static_cast<float>(1 - rate * options.decay) : 1.0F;
    float* const w = parameters[p].values->data();
    const float* const g = gradients[p].values->data();
    float* const m = state.first[p].data();
    float* const v = state.second[p].data();
    const auto count = static_cast<Index>(parameters[p].values->size());
    context.pool().run(tasks_of(parameters[p].values->size()), [&](Index task, int) {
      const Index end = std::min(count, (task + 1) * kTask);
      for (Index i = task * kTask; i < end; ++i) {
        m[i] += new1 * (g[i] - m[i]);
        v[i] = beta2 * v[i] + new2 * g[i] * g[i];
        w[i] = w[i] * kept - step * m[i] / (std::sqrt(v[i]) * root + epsilon);
      }
    });
  }
}

double clip(kernels::Context& context, const std::vector<Parameter>& gradients, double most) {
  double square = 0;
  for (const Parameter& gradient : gradients) {
    if (!gradient.learns) continue;
    std::vector<double> sums(static_cast<std::size_t>(tasks_of(gradient.values->size())));
    const std::vector<float>& values = *gradient.values;
    context.pool().run(static_cast<Index>(sums.size()), [&](Index task, int) {
      const auto end = std::min(values.size(), static_cast<std::size_t>((task + 1) * kTask));
      double sum = 0;
      for (auto i = static_cast<std::size_t>(task * kTask); i < end; ++i) sum += double{values[i]} * values[i];
      sums[static_cast<std::size_t>(task)] = sum;
    });
    for (const double sum : sums) square += sum;
  }
  const double norm = std::sqrt(square);
  // The constant is PyTorch's clip_grad_norm_.
  const double scale = most / (norm + 1e-6);
  if (most <= 0 || !(scale < 1)) return norm;
  for (const Parameter& gradient : gradients)
    context.pool().run(tasks_of(gradient.values->size()), [&](Index task, int) {
      std::vector<float>& values = *gradient.values;
      const auto end = std::min(values.size(), static_cast<std::size_t>((task + 1) * kTask));
      for (auto i = static_cast<std::size_t>(task * kTask); i < end; ++i) values[i] *= static_cast<float>(scale);
    });
  return norm;
}

double linear_rate(double rate, std::int64_t step, std::int64_t warmup, std::int64_t steps) {
  if (step < warmup) return rate * static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(1, warmup));
  const auto left = static_cast<double>(std::max<std::int64_t>(0, steps - step));
  return rate * left / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
}

}  // namespace orrery::network
