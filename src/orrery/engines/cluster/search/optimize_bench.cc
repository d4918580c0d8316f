// Seconds to a proven best plan. One argument is one search; `space` counts the plans that it is over.
#include "orrery/engines/cluster/search/optimize.h"

#include <benchmark/benchmark.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"

namespace orrery::cluster {
namespace {

void search(benchmark::State& state, const Model& model, base::Count gpus, base::Count batch, Metric metric) {
  System system = a100(1600);
  system.accelerator.host_bytes_per_s = 25e9;
  const machine::Roofline operators(system.accelerator);
  Space space;
  space.most_gpus = gpus;
  space.of(Variable::kGlobalBatch) = {batch};
  Objective objective;
  objective.metrics = {metric};
  objective.least_gpus = gpus;
  PlanLimits limits;
  limits.memory = system.accelerator.memory_bytes;
  SearchOptions options;
  options.top = 5;
  options.threads = 2;
  base::Certificate proof;
  for (auto _ : state)
    proof = optimize(model, system, space, objective, limits, operators, base::Budget(), options).certificate;
  state.counters["space"] = proof.space;
  state.counters["evaluated"] = static_cast<double>(proof.evaluated);
}

Model llama3_405b() {
  Gpt model = gpt(128, 16384, 126, 128256, 8192);
  model.kv_heads = 8;
  model.gated = true;
  model.ffn = 53248;
  model.attention = Attention::kFlash;
  return model;
}

Model deepseek_v3() {
  Gpt model = gpt(128, 7168, 61, 129280, 4096);
  model.gated = true;
  model.ffn = 18432;
  model.experts = {.count = 256, .top_k = 8, .ffn = 2048, .shared = 1, .dense_layers = 3, .every = 1};
  model.attention = Attention::kFlash;
  return model;
}

void best_plan_gpt3_512(benchmark::State& state) {
  search(state, gpt(96, 12288, 96), 512, 1536, Metric::kTime);
}
BENCHMARK(best_plan_gpt3_512)->Unit(benchmark::kMillisecond)->UseRealTime();

void best_plan_gpt3_512_memory(benchmark::State& state) {
  search(state, gpt(96, 12288, 96), 512, 1536, Metric::kMemory);
}
BENCHMARK(best_plan_gpt3_512_memory)->Unit(benchmark::kMillisecond)->UseRealTime();

void best_plan_llama3_405b_16384(benchmark::State& state) {
  search(state, llama3_405b(), 16384, 2048, Metric::kTime);
}
BENCHMARK(best_plan_llama3_405b_16384)->Unit(benchmark::kMillisecond)->UseRealTime();

void best_plan_mixture_2048(benchmark::State& state) {
  search(state, deepseek_v3(), 2048, 15360, Metric::kTime);
}
BENCHMARK(best_plan_mixture_2048)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery::cluster
