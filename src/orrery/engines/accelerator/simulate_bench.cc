// Simulated cycles a second of the 64 x 16 array: the fast engine, and every register of the machine stepped.
//
// Goals: 200,000 cycles/s on one thread, an attention core of a BERT-base layer with 512 tokens in 3 s on two (12 heads
// of size 64; normal queries, keys and values; a threshold of 0.002). Without the comparison with double precision,
// which is no part of the simulation.
#include <benchmark/benchmark.h>

#include <random>

#include "orrery/engines/accelerator/machine_steps.h"
#include "orrery/engines/accelerator/simulate.h"

namespace orrery::accelerator {
namespace {

struct Heads {
  Instance instance;
  Work work;
  std::vector<float> query, key, value;

  Heads(Count heads, Count tokens, double threshold) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    work.shape = {1, heads, tokens, tokens}, work.depth = 64, work.scale = 0.125;
    for (auto* x : {&query, &key, &value}) {
      x->resize(static_cast<std::size_t>(heads * tokens * 64));
      for (float& one : *x) one = normal(random) * (x == &value ? 1.0F : 1.5F);
    }
    work.query = query.data(), work.key = key.data(), work.value = value.data();
    work.prediction = Prediction{threshold, true, {}, {}};
  }
};

// Arguments: heads, tokens, threads, whether everything is kept.
void simulate_layer(benchmark::State& state) {
  const Heads heads(state.range(0), state.range(1), state.range(3) != 0 ? 0 : 0.002);
  SimulateOptions options;
  options.threads = static_cast<int>(state.range(2)), options.compare = false;
  Count cycles = 0;
  double density = 0;
  for (auto _ : state) {
    const Simulation s = simulate(heads.instance, heads.work, options);
    cycles += s.cycles;
    density = static_cast<double>(s.kept) / static_cast<double>(state.range(0) * state.range(1) * state.range(1));
  }
  state.counters["cycles/s"] = benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
  state.counters["density"] = density;
}
BENCHMARK(simulate_layer)
    ->Args({12, 512, 1, 0})
    ->Args({12, 512, 2, 0})
    ->Args({12, 512, 1, 1})
    ->Args({12, 512, 2, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// The same machine with a mask alone: cycles and events, no numbers.
void simulate_mask(benchmark::State& state) {
  Heads heads(12, 512, 0.002);
  const masks::Mask mask = *simulate(heads.instance, heads.work).predicted;
  heads.work.prediction.reset();
  heads.work.mask = &mask;
  heads.work.query = heads.work.key = heads.work.value = nullptr;
  Count cycles = 0;
  for (auto _ : state) cycles += simulate(heads.instance, heads.work).cycles;
  state.counters["cycles/s"] = benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
}
BENCHMARK(simulate_mask)->Unit(benchmark::kMillisecond)->UseRealTime();

// Register by register.
void step_machine(benchmark::State& state) {
  const Heads heads(1, 128, 0.002);
  Count cycles = 0;
  for (auto _ : state) cycles += stepped_run(heads.instance, heads.work).cycles;
  state.counters["cycles/s"] = benchmark::Counter(static_cast<double>(cycles), benchmark::Counter::kIsRate);
}
BENCHMARK(step_machine)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery::accelerator
