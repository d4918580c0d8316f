// Whole optimisations: degrees, tiles, sharding, partition, evaluation and proof.
#include <benchmark/benchmark.h>

#include "orrery/dataflow/optimize.h"
#include "orrery/dataflow/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

void run(benchmark::State& state, const Setup& setup, Generation generation) {
  double final_ns = 0;
  for (auto _ : state) {
    final_ns = optimize(setup, generation).evaluation.final_ns;
    benchmark::DoNotOptimize(final_ns);
  }
  state.counters["final_ms"] = final_ns * 1e-6;
}

void readme(benchmark::State& state) {
  run(state, cases::readme(), Generation::kGen1);
}
void readme_corrected(benchmark::State& state) {
  run(state, cases::readme(), Generation::kCorrected);
}
void gpt3_4x2_twelve_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_4x2(), Generation::kGen2);
}
void gpt3_4x2_ragged_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_4x2(), Generation::kCorrected);
}
void gpt3_8x1_twelve_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_8x1(), Generation::kGen2);
}
void hpl(benchmark::State& state) {
  run(state, cases::hpl_circe(), Generation::kGen2);
}
void fft(benchmark::State& state) {
  run(state, cases::fft_1024(), Generation::kGen2);
}
void dlrm(benchmark::State& state) {
  run(state, cases::dlrm_i(), Generation::kGen2);
}

// Every factorisation of 1,024 chips over three dimensions in every order, and every tile.
void readme_all_degrees(benchmark::State& state) {
  Setup setup = cases::readme();
  setup.system.network = {{Link::kRing, 0, 50, {}}, {Link::kRing, 0, 50, {}}, {Link::kSwitch, 0, 25, {}}};
  std::get<LanguageModel>(setup.execution.workload).tile_size = 0;
  run(state, setup, Generation::kCorrected);
}

BENCHMARK(readme)->Unit(benchmark::kMillisecond);
BENCHMARK(readme_corrected)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_4x2_twelve_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_4x2_ragged_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_8x1_twelve_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(hpl)->Unit(benchmark::kMicrosecond);
BENCHMARK(fft)->Unit(benchmark::kMicrosecond);
BENCHMARK(dlrm)->Unit(benchmark::kMicrosecond);
BENCHMARK(readme_all_degrees)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery::dataflow
