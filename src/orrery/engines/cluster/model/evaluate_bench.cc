// Configurations per second: one argument is one plan evaluated, rejected ones are counted apart.
#include "orrery/engines/cluster/model/evaluate.h"

#include <benchmark/benchmark.h>

#include <vector>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/a100_test_util.h"

namespace orrery::cluster {
namespace {

// Every split of `gpus` in powers of two, microbatches 1 to 8, every recomputation.
std::vector<Plan> plans(base::Count gpus) {
  std::vector<Plan> result;
  for (base::Count tp = 1; tp <= 16; tp *= 2) {
    for (base::Count pp = 1; tp * pp <= gpus && pp <= 96; pp *= 2) {
      for (base::Count micro = 1; micro <= 8; micro *= 2) {
        for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
          for (base::Count interleave = 1; interleave <= 4; ++interleave) {
            Plan plan;
            plan.gpus = gpus;
            plan.global_batch = 1536;
            plan.micro_batch = micro;
            plan.tp = tp;
            plan.pp = pp;
            plan.dp = gpus / tp / pp;
            plan.interleave = interleave;
            plan.recompute = recompute;
            plan.sequence_parallel = tp > 1;
            plan.zero = 1;
            result.push_back(plan);
          }
        }
      }
    }
  }
  return result;
}

void evaluate_possible_plans(benchmark::State& state, const Model& model) {
  const System system = a100(1600);
  const machine::Roofline operators(system.accelerator);
  std::vector<Plan> possible_ones;
  for (const Plan& plan : plans(512)) {
    if (possible(model, system, plan)) possible_ones.push_back(plan);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(evaluate(model, system, possible_ones[next], operators).iteration_s);
    if (++next == possible_ones.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

void evaluate_gpt3(benchmark::State& state) {
  evaluate_possible_plans(state, gpt(96, 12288, 96));
}
BENCHMARK(evaluate_gpt3);

void evaluate_mixture(benchmark::State& state) {
  Gpt model = gpt(96, 12288, 96);
  model.experts = {.count = 64, .top_k = 2, .ffn = 6144, .dense_layers = 1};
  evaluate_possible_plans(state, model);
}
BENCHMARK(evaluate_mixture);

// What a search does: ask, and evaluate what may be.
void ask_and_evaluate(benchmark::State& state) {
  const Model model = gpt(96, 12288, 96);
  const System system = a100(1600);
  const machine::Roofline operators(system.accelerator);
  const std::vector<Plan> all = plans(512);
  std::size_t next = 0;
  for (auto _ : state) {
    const Plan& plan = all[next];
    if (possible(model, system, plan)) {
      benchmark::DoNotOptimize(evaluate(model, system, plan, operators).iteration_s);
    }
    if (++next == all.size()) next = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(ask_and_evaluate);

}  // namespace
}  // namespace orrery::cluster
