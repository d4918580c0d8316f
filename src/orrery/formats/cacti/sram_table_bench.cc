// Goals: a technology ready to be asked within 2 ms of a start, a figure within 20 us, so that estimating a chip
// stays within 5 ms.
#include <benchmark/benchmark.h>
#include <source_dir.h>

#include "orrery/describe/energy/sram/sram.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

const std::string kTables = ORRERY_SOURCE_DIR "/catalog/tables/";

energy::SramSurfaces surfaces() {
  return sram_surfaces(yaml::read_file(kTables + "sram_cacti7.csv"),
                       yaml::read_file(kTables + "sram_cacti7_runners_up.csv"));
}

void read_files(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(surfaces());
}
BENCHMARK(read_files)->Unit(benchmark::kMicrosecond);

void one_technology_from_files(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(surfaces()(32));
}
BENCHMARK(one_technology_from_files)->Unit(benchmark::kMicrosecond);

void figure_at_a_row(benchmark::State& state) {
  const auto surface = surfaces()(32);
  for (auto _ : state) benchmark::DoNotOptimize(surface->at({524288, 128, 4, 1}));
}
BENCHMARK(figure_at_a_row)->Unit(benchmark::kMicrosecond);

void figure_between_rows(benchmark::State& state) {
  const auto surface = surfaces()(32);
  for (auto _ : state) benchmark::DoNotOptimize(surface->at({22737, 88, 2, 1}));
}
BENCHMARK(figure_between_rows)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orrery::formats::cacti
