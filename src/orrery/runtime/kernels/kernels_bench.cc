// Kernels against what the machine can do. One thread; CPU time, the best iteration counts, and the peak is measured in
// the same run: on a machine that others use, a rate alone says little, its share of the peak (the last column) does.
//
// Goals: 0.88 of the peak of fp32, and of bf16, for products of 512 and more in each direction.
// Levels are chosen by ORRERY_ISA.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/dropout.h"
#include "orrery/runtime/kernels/probe.h"
#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/kernels/rows.h"

namespace orrery::kernels {
namespace {

// Runs `work` until the benchmark has enough; rates of the best run.
void measure(benchmark::State& state, const std::function<void()>& work, double operations, double bytes, double peak) {
  work();
  double best = 1e9;
  for (auto _ : state) {
    const double begin = thread_seconds();
    work();
    best = std::min(best, thread_seconds() - begin);
  }
  state.counters["ms"] = best * 1e3;
  if (operations > 0) state.counters["GFLOP/s"] = operations / best / 1e9;
  if (bytes > 0) state.counters["GB/s"] = bytes / best / 1e9;
  if (peak > 0) state.counters["of_peak"] = operations / best / peak;
}

Buffer filled(Type type, Index count) {
  Buffer buffer(static_cast<std::size_t>(count * bytes_of(type)));
  std::uint32_t random = 12345;
  for (Index i = 0; i < count; ++i) {
    random = random * 1664525U + 1013904223U;
    const float x = static_cast<float>(static_cast<std::int32_t>(random)) * 0x1p-31F;
    switch (type) {
      case Type::kF32:
        static_cast<float*>(buffer.data())[i] = x;
        break;
      case Type::kBf16:
        static_cast<Bf16*>(buffer.data())[i] = to_bf16(x);
        break;
      case Type::kInt8:
      case Type::kUint8:
        static_cast<std::int8_t*>(buffer.data())[i] = static_cast<std::int8_t>(random >> 24);
        break;
      default:
        break;
    }
  }
  return buffer;
}

enum Form { kPlain, kTransposedA, kTransposedB, kPackedB };

void product(benchmark::State& state, Precision precision, Form form) {
  Context context(1);
  const Index rows = state.range(0), columns = state.range(1), depth = state.range(2), batch = state.range(3);
  const Type type = precision == Precision::kF32    ? Type::kF32
                    : precision == Precision::kBf16 ? Type::kBf16
                                                    : Type::kInt8;
  const Type result = precision == Precision::kInt8 ? Type::kInt32 : type;
  const Buffer a = filled(type, batch * rows * depth), b = filled(type, batch * depth * columns),
               c = filled(result, batch * rows * columns);
  Product x;
  x.rows = rows, x.columns = columns, x.depth = depth, x.batch = batch, x.precision = precision;
  x.a = {a.data(), type, depth, 1, rows * depth};
  x.b = {b.data(), type, columns, 1, depth * columns};
  if (form == kTransposedA) x.a.row_stride = 1, x.a.column_stride = rows;
  if (form == kTransposedB) x.b.row_stride = 1, x.b.column_stride = depth;
  x.c = {c.data(), result, columns, rows * columns};
  PackedOperand packed;
  if (form == kPackedB) {
    packed = pack(context, x.b, depth, columns, precision);
    x.packed_b = &packed;
  }
  const Arithmetic arithmetic = precision == Precision::kF32    ? Arithmetic::kF32
                                : precision == Precision::kBf16 ? context.bf16()
                                                                : Arithmetic::kInt8;
  const double peak = operations_per_second(context.table(), arithmetic);
  measure(
      state, [&] { multiply(context, x); }, 2.0 * static_cast<double>(rows * columns * depth * batch), 0, peak);
}

// rows, columns, depth, batch: BERT-large's at batch 8, 512 tokens (4096), and smaller ones.
void shapes(benchmark::internal::Benchmark* b) {
  for (const auto& [m, n, k] : {std::array<Index, 3>{4096, 3072, 1024},
                                {4096, 1024, 1024},
                                {4096, 4096, 1024},
                                {4096, 1024, 4096},
                                {512, 512, 512},
                                {128, 1024, 1024},
                                {128, 4096, 1024}}) {
    b->Args({m, n, k, 1});
  }
  b->Args({512, 512, 64, 16})->Args({512, 64, 512, 16})->MinTime(0.7);
}
BENCHMARK_CAPTURE(product, fp32, Precision::kF32, kPlain)->Apply(shapes);
BENCHMARK_CAPTURE(product, fp32_packed, Precision::kF32, kPackedB)
    ->Args({4096, 4096, 1024, 1})
    ->Args({128, 4096, 1024, 1});
BENCHMARK_CAPTURE(product, fp32_weight_gradient, Precision::kF32, kTransposedA)->Args({1024, 4096, 4096, 1});
BENCHMARK_CAPTURE(product, fp32_transposed_b, Precision::kF32, kTransposedB)->Args({4096, 1024, 4096, 1});
BENCHMARK_CAPTURE(product, bf16, Precision::kBf16, kPlain)->Apply(shapes);
BENCHMARK_CAPTURE(product, bf16_packed, Precision::kBf16, kPackedB)
    ->Args({4096, 4096, 1024, 1})
    ->Args({128, 4096, 1024, 1});
BENCHMARK_CAPTURE(product, bf16_weight_gradient, Precision::kBf16, kTransposedA)->Args({1024, 4096, 4096, 1});
BENCHMARK_CAPTURE(product, bf16_transposed_b, Precision::kBf16, kTransposedB)->Args({4096, 1024, 4096, 1});
BENCHMARK_CAPTURE(product, int8, Precision::kInt8, kPlain)->Apply(shapes);

void attention(benchmark::State& state, Type type, bool back, double dropout, bool causal) {
  Context context(1);
  const Index queries = state.range(0), size = 64, heads = 16, batch = state.range(1), width = heads * size;
  const Buffer qkv = filled(type, batch * queries * width * 3), out = filled(type, batch * queries * width),
               gradient = filled(type, batch * queries * width), result = filled(type, batch * queries * width * 3);
  std::vector<float> log_sum(batch * heads * queries);
  Attention x;
  x.type = type, x.batch = batch, x.heads = x.key_heads = heads, x.queries = x.keys = queries,
  x.size = x.value_size = size;
  x.scale = 0.125F;
  x.drop = drop_pattern(dropout, 1, 2);
  if (causal) x.reach_ahead = 0;
  const auto third = [&](const Buffer& from, Index i) {
    return Vectors{static_cast<char*>(from.data()) + i * width * bytes_of(type), queries * 3 * width, size, 3 * width};
  };
  x.query = third(qkv, 0), x.key = third(qkv, 1), x.value = third(qkv, 2);
  x.out = {out.data(), queries * width, size, width};
  x.log_sum = log_sum.data();
  x.out_gradient = {gradient.data(), queries * width, size, width};
  x.query_gradient = third(result, 0), x.key_gradient = third(result, 1), x.value_gradient = third(result, 2);
  attend(context, x);
  const double peak = operations_per_second(context.table(), type == Type::kBf16 ? context.bf16() : Arithmetic::kF32);
  const double products = (back ? 5 : 2) * (causal ? 0.5 : 1);
  measure(
      state, [&] { back ? attend_back(context, x) : attend(context, x); },
      products * 2 * static_cast<double>(batch * heads * queries * queries * size), 0, peak);
}
BENCHMARK_CAPTURE(attention, fp32, Type::kF32, false, 0.0, false)->Args({512, 8})->Args({128, 8})->Args({4096, 1});
BENCHMARK_CAPTURE(attention, fp32_dropout, Type::kF32, false, 0.1, false)->Args({512, 8});
BENCHMARK_CAPTURE(attention, fp32_causal, Type::kF32, false, 0.0, true)->Args({512, 8})->Args({4096, 1});
BENCHMARK_CAPTURE(attention, fp32_back, Type::kF32, true, 0.0, false)->Args({512, 8})->Args({128, 8})->Args({4096, 1});
BENCHMARK_CAPTURE(attention, fp32_back_dropout, Type::kF32, true, 0.1, false)->Args({512, 8});
BENCHMARK_CAPTURE(attention, bf16, Type::kBf16, false, 0.0, false)->Args({512, 8})->Args({128, 8});
BENCHMARK_CAPTURE(attention, bf16_dropout, Type::kBf16, false, 0.1, false)->Args({512, 8});
BENCHMARK_CAPTURE(attention, bf16_back, Type::kBf16, true, 0.0, false)->Args({512, 8});
BENCHMARK_CAPTURE(attention, bf16_back_dropout, Type::kBf16, true, 0.1, false)->Args({512, 8});

void chain(benchmark::State& state, Activation activation, double dropout) {
  Context context(1);
  const Index rows = 512, columns = 4096;
  const Buffer in = filled(Type::kF32, rows * columns), out = filled(Type::kF32, rows * columns),
               bias = filled(Type::kF32, columns);
  Finish x;
  x.in = in.data(), x.in_stride = columns, x.rows = rows, x.columns = columns;
  x.bias = static_cast<const float*>(bias.data());
  x.activation = activation;
  x.drop = drop_pattern(dropout, 1, 2);
  x.out = out.data(), x.out_stride = columns;
  const double elements = static_cast<double>(rows * columns);
  measure(
      state, [&] { finish(context, x); }, 0, 8 * elements, 0);
  state.counters["ns/element"] = state.counters["ms"] * 1e6 / elements;
}
BENCHMARK_CAPTURE(chain, bias, Activation::kNone, 0.0);
BENCHMARK_CAPTURE(chain, bias_relu_dropout, Activation::kRelu, 0.1);
BENCHMARK_CAPTURE(chain, bias_gelu, Activation::kGelu, 0.0);
BENCHMARK_CAPTURE(chain, bias_gelu_dropout, Activation::kGelu, 0.1);

void rows(benchmark::State& state, bool back) {
  Context context(1);
  const Index count = 4096, columns = 1024;
  const Buffer in = filled(Type::kF32, count * columns), out = filled(Type::kF32, count * columns),
               gradient = filled(Type::kF32, count * columns), scale = filled(Type::kF32, columns);
  std::vector<float> inverse(count, 1.0F), ds(columns), db(columns);
  Normalise x;
  x.in = in.data(), x.out = out.data(), x.in_stride = x.out_stride = columns, x.rows = count, x.columns = columns;
  x.scale = static_cast<const float*>(scale.data());
  NormaliseBack y;
  y.gradient = gradient.data(), y.standard = in.data(), y.inverse = inverse.data(), y.out = out.data();
  y.gradient_stride = y.standard_stride = y.out_stride = columns, y.rows = count, y.columns = columns;
  y.scale = x.scale, y.scale_gradient = ds.data(), y.shift_gradient = db.data();
  const double bytes = 4.0 * static_cast<double>(count * columns) * (back ? 3 : 2);
  measure(
      state, [&] { back ? normalise_back(context, y) : normalise(context, x); }, 0, bytes, 0);
}
BENCHMARK_CAPTURE(rows, layer_norm, false);
BENCHMARK_CAPTURE(rows, layer_norm_back, true);

void memory(benchmark::State& state) {
  Bandwidth best;
  for (auto _ : state) {
    const Bandwidth now = bandwidth(static_cast<std::size_t>(state.range(0)) << 10, 3);
    best.read = std::max(best.read, now.read), best.copy = std::max(best.copy, now.copy),
    best.triad = std::max(best.triad, now.triad);
  }
  state.counters["read GB/s"] = best.read / 1e9;
  state.counters["copy GB/s"] = best.copy / 1e9;
  state.counters["triad GB/s"] = best.triad / 1e9;
}
BENCHMARK(memory)->Arg(256)->Arg(6 << 10)->Arg(256 << 10)->Iterations(5);

}  // namespace
}  // namespace orrery::kernels
