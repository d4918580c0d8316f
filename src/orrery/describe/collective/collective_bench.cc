#include "orrery/describe/collective/collective.h"

#include <benchmark/benchmark.h>

namespace orrery::collective {
namespace {

Fabric two_levels() {
  Fabric fabric;
  fabric.levels[0].size = 8;
  fabric.levels[0].bytes_per_s = 300e9;
  fabric.levels[1].bytes_per_s = 25e9;
  fabric.levels[1].latency_s = 20e-6;
  fabric.count = 2;
  return fabric;
}

void place_and_price(benchmark::State& state, Operation operation) {
  const Fabric fabric = two_levels();
  double bytes = 1e6;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(seconds(operation, fabric, place(fabric, 64, 4), bytes));
  }
}
BENCHMARK_CAPTURE(place_and_price, all_reduce, Operation::kAllReduce);
BENCHMARK_CAPTURE(place_and_price, all_to_all, Operation::kAllToAll);

}  // namespace
}  // namespace orrery::collective
