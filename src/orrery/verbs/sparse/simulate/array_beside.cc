#include "orrery/verbs/sparse/simulate/array_beside.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/masks/packing/latency.h"
#include "orrery/engines/masks/pruned_attention.h"
#include "orrery/runtime/kernels/attention.h"

namespace orrery::verbs {
namespace {

using base::Count;

constexpr Count kFeatures = 768, kHead = 64;  // of the published models

double exact(Count x) {
  return static_cast<double>(x);
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

double v1_core_ms(const LatencyShape& s) {
  if (s.load_balance <= 0) return 0;
  const double operations = 2 * 2 * exact(s.queries) * exact(s.keys) * exact(s.size) * exact(s.matrices);
  const double peak = 2 * exact(s.rows) * exact(s.pes) * s.hertz;
  return operations * s.density / (peak * s.load_balance) * 1e3;
}

double v2_core_ms(const LatencyShape& s) {
  if (s.load_balance <= 0) return 0;
  const double features = exact(s.heads) * exact(s.size), layers = exact(s.matrices) / exact(s.heads);
  const double n = s.density / s.load_balance / (exact(s.pes) / exact(s.ports)) * exact(s.keys);
  const double row_tile = ((features + exact(s.ports)) + (n + exact(s.ports))) * (exact(s.queries) / exact(s.rows));
  return layers * n / exact(s.ports) * row_tile / s.hertz * 1e3;
}

std::optional<WholeLayer> whole_layer(const LatencyShape& s) {
  if (s.queries != s.keys || s.heads * s.size != kFeatures || s.size != kHead || s.rows != 64 || s.pes != 16 ||
      s.ports != 64 || s.hertz != 1e9 || s.load_balance <= 0 || s.density <= 0)
    return std::nullopt;
  const double layers = exact(s.matrices) / exact(s.heads);
  const masks::LatencyQuestion question{s.queries, s.density, s.load_balance};
  const double projection = exact(s.queries) * kFeatures * kFeatures * 2 / (2 * exact(s.rows) * exact(s.pes) * s.hertz);
  WholeLayer out;
  out.v1_ms = layers * masks::latency_v1_ms(question);
  out.v2_ms = layers * masks::latency_v2_ms(question);
  out.projections_ms = layers * 3 * projection * 1e3;
  out.output_ms = layers * projection * 1e3;
  out.output_as_pruned_ms = out.output_ms * s.density / s.load_balance;
  return out;
}

std::optional<CpuTimes> cpu_times(const masks::Mask& mask, Count size, int threads, int turns,
                                  const base::Budget& budget) {
  kernels::Context context(threads);
  const Count matrices = mask.shape().matrices();
  kernels::Attention attention;
  attention.batch = 1;
  attention.heads = attention.key_heads = matrices;  // each with a pattern of its own
  attention.queries = mask.rows(), attention.keys = mask.columns();
  attention.size = attention.value_size = size;
  attention.scale = 1 / std::sqrt(exact(size));
  std::vector<float> memory[4];
  kernels::Vectors* const tensors[] = {&attention.query, &attention.key, &attention.value, &attention.out};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 4; ++i) {
    const Count tokens = i == 0 || i == 3 ? attention.queries : attention.keys;
    memory[i].resize(static_cast<std::size_t>(matrices * tokens * size));
    for (float& x : memory[i]) x = normal(random);
    *tensors[i] = {memory[i].data(), matrices * tokens * size, tokens * size, size};
  }
  masks::Mask pattern({1, matrices, mask.rows(), mask.columns()});
  for (Count m = 0; m < matrices; ++m)
    for (Count r = 0; r < mask.rows(); ++r)
      std::copy_n(mask.row(m / mask.heads(), m % mask.heads(), r), mask.words(), pattern.row(0, m, r));
  masks::Pruning pruning;
  pruning.pattern = std::make_shared<const masks::Mask>(std::move(pattern));
  pruning.empty = masks::EmptyRows::kZero;
  masks::PrunedAttention pruned(pruning);
  std::vector<double> dense, sparse;
  for (int turn = 0; turn <= turns; ++turn) {
    if (budget.spent()) break;
    const base::Stopwatch first;
    kernels::attend(context, attention);
    const double dense_s = first.seconds();
    const base::Stopwatch second;
    pruned.forward(context, attention);
    if (turn == 0) continue;  // warm-up
    dense.push_back(dense_s * 1e3);
    sparse.push_back(second.seconds() * 1e3);
  }
  if (dense.empty()) return std::nullopt;
  return CpuTimes{middle(dense), middle(sparse), context.threads(),
                  std::string(kernels::name_of(context.table().level))};
}

}  // namespace orrery::verbs
