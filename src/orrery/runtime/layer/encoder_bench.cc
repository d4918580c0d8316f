// BERT-large's layer (width 1024, 16 heads, hidden 4096, GELU), one thread: CPU time of the best iteration, and which
// share of the arithmetic's peak of the same run that is. Dropout 0.1 in the four places when training, where the
// scores that the backward pass computes again count as operations.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "orrery/runtime/kernels/probe.h"
#include "orrery/runtime/layer/encoder.h"

namespace orrery::layer {
namespace {

void encoder(benchmark::State& state, kernels::Type type, bool training, double dropout) {
  kernels::Context context(1);
  Shape shape;
  shape.batch = state.range(0), shape.length = state.range(1);
  shape.width = 1024, shape.heads = 16, shape.hidden = 4096, shape.type = type;
  Weights weights(shape), gradients(shape);
  std::uint32_t random = 1;
  for (std::vector<float>* part : weights.all()) {
    for (float& v : *part) {
      random = random * 1664525U + 1013904223U;
      v += static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-36F;
    }
  }
  const Index count = shape.batch * shape.length * shape.width;
  const auto filled = [&] {
    kernels::Buffer buffer(static_cast<std::size_t>(count * bytes_of(type)));
    for (Index i = 0; i < count; ++i) {
      random = random * 1664525U + 1013904223U;
      const float x = static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-31F;
      if (type == kernels::Type::kBf16) static_cast<kernels::Bf16*>(buffer.data())[i] = kernels::to_bf16(x);
      if (type == kernels::Type::kF32) static_cast<float*>(buffer.data())[i] = x;
    }
    return buffer;
  };
  const kernels::Buffer x = filled(), y = filled(), dx = filled();
  Encoder layer(context, shape, weights, training);
  const Dropout everywhere = {dropout, dropout, dropout, dropout};
  double forward = 1e9, backward = 1e9;
  const auto run = [&](std::uint64_t seed) {
    const double begin = kernels::thread_seconds();
    training ? layer.forward(x.data(), y.data(), everywhere, seed) : layer.infer(x.data(), y.data());
    const double middle = kernels::thread_seconds();
    forward = std::min(forward, middle - begin);
    if (!training) return;
    layer.backward(x.data(), dx.data(), gradients);
    backward = std::min(backward, kernels::thread_seconds() - middle);
  };
  run(0);
  forward = backward = 1e9;
  for (auto _ : state) run(1);
  const double peak =
      operations_per_second(context.table(), type == kernels::Type::kBf16 ? context.bf16() : kernels::Arithmetic::kF32);
  const auto tokens = static_cast<double>(shape.batch * shape.length);
  const double products = 2 * tokens * 12 * 1024 * 1024, scores = 2 * tokens * static_cast<double>(shape.length) * 1024;
  const double operations = products + 2 * scores + (training ? 2 * products + 5 * scores : 0);
  const double seconds = forward + (training ? backward : 0);
  state.counters["forward_ms"] = forward * 1e3;
  if (training) state.counters["backward_ms"] = backward * 1e3;
  state.counters["GFLOP/s"] = operations / seconds / 1e9;
  state.counters["of_peak"] = operations / seconds / peak;
}
void sizes(benchmark::internal::Benchmark* b) {
  b->Args({8, 512})->Args({1, 128})->Args({1, 512})->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(encoder, fp32_inference, kernels::Type::kF32, false, 0.0)->Apply(sizes);
BENCHMARK_CAPTURE(encoder, bf16_inference, kernels::Type::kBf16, false, 0.0)->Apply(sizes);
BENCHMARK_CAPTURE(encoder, fp32_training_dropout, kernels::Type::kF32, true, 0.1)->Apply(sizes);
BENCHMARK_CAPTURE(encoder, fp32_training, kernels::Type::kF32, true, 0.0)->Apply(sizes);
BENCHMARK_CAPTURE(encoder, bf16_training_dropout, kernels::Type::kBf16, true, 0.1)->Apply(sizes);
BENCHMARK_CAPTURE(encoder, bf16_training, kernels::Type::kBf16, true, 0.0)->Apply(sizes);

}  // namespace
}  // namespace orrery::layer
