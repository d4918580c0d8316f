// Goals (one thread, Release, proven), on chips with free bypass, fan-outs at two storages and bandwidths that
// bind: 4096^3 in 20 ms, highly composite bounds in 1 s, 99 of 100 random chips of 3 to 6 storages in 1 s.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

// Storages from the compute units outwards, each about ten times larger and three times dearer than the one
// inside it; fan-outs at two of them; everything free but for the outermost storage, which keeps all.
machine::Chip random_hierarchy(Dice& dice, int storages, bool tight) {
  machine::Chip chip;
  chip.name = "random";
  chip.storages.resize(storages);
  Count x = 1, y = 1;
  const int wide = static_cast<int>(dice(0, storages - 2)), wider = static_cast<int>(dice(0, storages - 2));
  double energy_pj = 0.01;
  Count words = dice.pick({1, 2, 4, 16});
  for (int i = 0; i < storages; ++i) {
    machine::Storage& storage = chip.storages[i];
    storage.name = "level" + std::to_string(i);
    if (i + 1 < storages) storage.capacity_words = words;
    words *= dice(4, 32);
    storage.energy = {energy_pj, energy_pj, energy_pj, 0};
    energy_pj *= static_cast<double>(dice(15, 60)) / 10;
  }
  for (int i = storages - 1; i >= 0; --i) {
    machine::Storage& storage = chip.storages[i];
    storage.mesh_x = x;
    storage.mesh_y = y;
    storage.instances = x * y;
    if (tight) {
      const double units = static_cast<double>(dice.pick({1, 2, 4, 8, 16, 32, 64})) / 4;
      storage.read_words_per_cycle = units * static_cast<double>(dice.pick({1, 2, 4}));
      storage.write_words_per_cycle = units * static_cast<double>(dice.pick({1, 2, 4}));
    }
    if (i == wide) x *= dice.pick({4, 8, 16});
    if (i == wider) y *= dice.pick({2, 4, 16});
  }
  chip.compute = {"MAC", "mac", 16, x * y, x, y, 0.2, 0, {}, {}};
  return chip;
}

Mapspace keep_all_outermost(int storages) {
  Mapspace space;
  for (int s = 0; s < 3; ++s) {
    Constraint constraint;
    constraint.kind = Constraint::Kind::kKeep;
    constraint.level = storages - 1;
    constraint.dataspace = s;
    space.constraints.push_back(constraint);
  }
  return space;
}

void one_product(benchmark::State& state, Count m, Count k, Count n) {
  Dice dice = Dice::from_seed(7);
  const machine::Chip chip = random_hierarchy(dice, 4, true);
  const Model model(workload::matmul("product", m, k, n), chip);
  const Mapspace space = keep_all_outermost(4);
  Optimum found;
  for (auto _ : state) benchmark::DoNotOptimize(found = optimize(model, space));
  state.counters["proven"] = found.certificate.optimal;
  state.counters["space"] = found.certificate.space;
}

void random_chips(benchmark::State& state) {
  constexpr int kChips = 50;
  std::vector<double> seconds;
  int proven = 0;
  for (auto _ : state) {
    for (int k = 0; k < kChips; ++k) {
      Dice dice = Dice::from_seed(static_cast<std::uint64_t>(k) * 31 + 1);
      const int storages = static_cast<int>(dice(3, 6));
      const machine::Chip chip = random_hierarchy(dice, storages, true);
      const auto side = [&] { return dice.pick({64, 128, 256, 512, 768, 1024, 2048, 3072, 4096}); };
      const Model model(workload::matmul("product", side(), side(), side()), chip);
      SearchRules limits;
      limits.seconds = 1;
      const Optimum found = optimize(model, keep_all_outermost(storages), {Metric::kEdp}, limits);
      seconds.push_back(found.certificate.seconds);
      proven += found.certificate.optimal;
    }
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["median_ms"] = 1e3 * seconds[seconds.size() / 2];
  state.counters["p90_ms"] = 1e3 * seconds[seconds.size() * 90 / 100];
  state.counters["p99_ms"] = 1e3 * seconds[seconds.size() * 99 / 100];
  state.counters["proven"] = proven;
}

BENCHMARK_CAPTURE(one_product, cube_4096, 4096, 4096, 4096)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(one_product, highly_composite, 2520, 7560, 4320)->Unit(benchmark::kMillisecond);
BENCHMARK(random_chips)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery::nest
