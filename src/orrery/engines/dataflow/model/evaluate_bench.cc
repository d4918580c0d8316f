// Placements per second: lowered, priced and rolled up, the way a sweep over them asks.
#include "orrery/engines/dataflow/model/evaluate.h"

#include <benchmark/benchmark.h>

#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

void evaluate_one(benchmark::State& state, const Setup& setup, const Mapping& mapping, const Defects& defects) {
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(setup, mapping, defects).final_ns);
  state.SetItemsProcessed(state.iterations());
}

// 41 kernels at a given utilisation.
void evaluate_readme(benchmark::State& state) {
  const Setup setup = cases::readme();
  evaluate_one(state, setup, cases::readme_optimum(setup), kGen1);
}
BENCHMARK(evaluate_readme);

// 18 kernels, cores chosen for each.
void evaluate_gpt3_free_cores(benchmark::State& state) {
  const Setup setup = cases::gpt3_8x1();
  evaluate_one(state, setup, cases::gpt3_8x1_optimum(setup), kGen2);
}
BENCHMARK(evaluate_gpt3_free_cores);

// 64 kernels, each with the fastest of all shares of 2,560 cores.
void evaluate_hpl(benchmark::State& state) {
  const Setup setup = cases::hpl_circe();
  evaluate_one(state, setup, cases::whole_machine(setup), kGen2);
}
BENCHMARK(evaluate_hpl);

void evaluate_fft(benchmark::State& state) {
  const Setup setup = cases::fft_1024();
  evaluate_one(state, setup, cases::whole_machine(setup), kGen2);
}
BENCHMARK(evaluate_fft);

void evaluate_dlrm(benchmark::State& state) {
  const Setup setup = cases::dlrm_i();
  evaluate_one(state, setup, cases::whole_machine(setup), kGen2);
}
BENCHMARK(evaluate_dlrm);

// The problem alone: what a search over tile sizes pays for each.
void lower_gpt3_free_cores(benchmark::State& state) {
  const Setup setup = cases::gpt3_8x1();
  Mapping mapping = cases::gpt3_8x1_optimum(setup);
  Count tiles = 1;
  for (auto _ : state) {
    mapping.tiles = tiles;
    benchmark::DoNotOptimize(lower(setup, mapping, kGen2).kernels.data());
    tiles = tiles == 2048 ? 1 : tiles * 2;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lower_gpt3_free_cores);

// A wafer of 853,776 cores: lists of shares are long there.
void lower_readme_on_a_wafer(benchmark::State& state) {
  Setup setup = cases::readme();
  put(cases::chip(853776, 4, 1, 1.1, 4.196401e10), setup.system);
  setup.execution.compute_utilization.reset();
  Mapping mapping = cases::readme_optimum(setup);
  mapping.tiles = 16;
  for (auto _ : state) benchmark::DoNotOptimize(lower(setup, mapping, kGen2).kernels.data());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(lower_readme_on_a_wafer);

}  // namespace
}  // namespace orrery::dataflow
