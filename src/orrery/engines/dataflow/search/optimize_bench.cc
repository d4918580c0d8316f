// Whole optimisations: degrees, tiles, sharding, partition, evaluation and proof.
#include <benchmark/benchmark.h>

#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/search/joint.h"

namespace orrery::dataflow {
namespace {

void run(benchmark::State& state, const Setup& setup, const Defects& defects) {
  double final_ns = 0;
  for (auto _ : state) {
    final_ns = optimize(setup, defects).evaluation.final_ns;
    benchmark::DoNotOptimize(final_ns);
  }
  state.counters["final_ms"] = final_ns * 1e-6;
}

void readme(benchmark::State& state) {
  run(state, cases::readme(), kGen1);
}
void readme_corrected(benchmark::State& state) {
  Setup setup = cases::readme();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 1;  // tokens, no longer the number of tiles
  run(state, setup, kCorrected);
}
// Sharding and partition together, every tile size.
void joint(benchmark::State& state, Setup setup) {
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 0;
  double final_ns = 0;
  for (auto _ : state) {
    final_ns = optimize_jointly(setup).evaluation.final_ns;
    benchmark::DoNotOptimize(final_ns);
  }
  state.counters["final_ms"] = final_ns * 1e-6;
}
void readme_joint(benchmark::State& state) {
  joint(state, cases::readme());
}
void gpt3_4x2_joint(benchmark::State& state) {
  joint(state, cases::gpt3_4x2());
}
void gpt3_4x2_twelve_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_4x2(), kGen2);
}
void gpt3_4x2_ragged_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_4x2(), kCorrected);
}
void gpt3_8x1_twelve_tile_sizes(benchmark::State& state) {
  run(state, cases::gpt3_8x1(), kGen2);
}
void hpl(benchmark::State& state) {
  run(state, cases::hpl_circe(), kGen2);
}
void fft(benchmark::State& state) {
  run(state, cases::fft_1024(), kGen2);
}
void dlrm(benchmark::State& state) {
  run(state, cases::dlrm_i(), kGen2);
}

// Every factorisation of 1,024 chips over three dimensions in every order, and every tile.
void readme_all_degrees(benchmark::State& state) {
  Setup setup = cases::readme();
  setup.system.network = {{Link::kRing, 0, 50, {}}, {Link::kRing, 0, 50, {}}, {Link::kSwitch, 0, 25, {}}};
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 0;
  run(state, setup, kCorrected);
}

// Four layers backward, 92 kernels in 12 configurations; every tile that divides the sequence.
Setup four_layers_backward() {
  Setup setup = cases::readme();
  setup.graph = workload::language_model_graph({.hidden = 25600, .heads = 160}, 2048, workload::Passes::kBackward, 4);
  setup.execution.configurations = 12;
  setup.system.network = {{Link::kRing, 8, 50, Parallelism::kTensor}, {Link::kRing, 128, 50, Parallelism::kData}};
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.layers = model.layers_in_graph = 4;
  return setup;
}
void four_layers_backward_tiled(benchmark::State& state) {
  run(state, four_layers_backward(), kGen1);
}
void four_layers_backward_all_tiles(benchmark::State& state) {
  Setup setup = four_layers_backward();
  std::get<LanguageModelRun>(setup.execution.workload).tile_size = 0;
  run(state, setup, kGen1);
}

// The published grid: four chips, five networks, two memories, two links; degrees and tiles are all searched.
void grid_of_eighty_systems(benchmark::State& state) {
  const cases::Chip chips[] = {cases::chip(1056, 16, 16, 1.837, 118489090), cases::chip(8, 128, 128, 1.05, 167772160),
                               cases::chip(1280, 32, 6, 1.25, 671088640),
                               cases::chip(853776, 4, 1, 1.1, 41964010000.0)};
  const std::vector<Link> networks[] = {{Link::kRing, Link::kRing},
                                        {Link::kFullyConnected, Link::kFullyConnected},
                                        {Link::kRing, Link::kRing, Link::kRing},
                                        {Link::kRing, Link::kSwitch},
                                        {Link::kSwitch, Link::kSwitch}};
  double placed = 0;
  for (auto _ : state) {
    for (const cases::Chip& chip : chips) {
      for (const std::vector<Link>& links : networks) {
        for (const bool hbm : {false, true}) {
          for (const bool nvlink : {false, true}) {
            Setup setup = cases::readme();
            put(chip, setup.system);
            setup.system.accelerator.memory_bytes_per_s = hbm ? 3072e9 : 300e9;
            setup.system.accelerator.memory_bytes = hbm ? 1.03e11 : 1.0995e12;
            setup.system.network.clear();
            for (std::size_t d = 0; d < links.size(); ++d)
              setup.system.network.push_back({links[d], 0, d == 0 && nvlink ? 450.0 : 50.0, {}});
            std::get<LanguageModelRun>(setup.execution.workload).tile_size = 0;
            placed += optimize(setup, kCorrected).mapping ? 1 : 0;
          }
        }
      }
    }
  }
  state.counters["placed"] = placed;
}

BENCHMARK(readme)->Unit(benchmark::kMillisecond);
BENCHMARK(readme_corrected)->Unit(benchmark::kMillisecond);
BENCHMARK(readme_joint)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_4x2_joint)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_4x2_twelve_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_4x2_ragged_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(gpt3_8x1_twelve_tile_sizes)->Unit(benchmark::kMillisecond);
BENCHMARK(hpl)->Unit(benchmark::kMicrosecond);
BENCHMARK(fft)->Unit(benchmark::kMicrosecond);
BENCHMARK(dlrm)->Unit(benchmark::kMicrosecond);
BENCHMARK(four_layers_backward_tiled)->Unit(benchmark::kMillisecond);
BENCHMARK(four_layers_backward_all_tiles)->Unit(benchmark::kMillisecond);
BENCHMARK(grid_of_eighty_systems)->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK(readme_all_degrees)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery::dataflow
