// Goals: 1,000 bandwidths of one chip over BERT-large's layers cost at most 1.1 times their searches; 0.5 million
// training plans a second on one thread.
#include <benchmark/benchmark.h>

#include <ctime>
#include <vector>

#include "orrery/orrery.h"

namespace orrery {
namespace {

// Of this thread, so that what else the machine does counts little.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const auto& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

machine::Chip with_bandwidth(machine::Chip chip, double factor) {
  for (machine::Storage& storage : chip.storages)
    for (auto* words : {&storage.read_words_per_cycle, &storage.write_words_per_cycle, &storage.shared_words_per_cycle})
      if (storage.is_dram && *words) **words *= factor;
  return chip;
}

void thousand_bandwidths(benchmark::State& state, const char* name) {
  const Chip chip = Chip::named(name);
  const std::vector<workload::Operator> block = Model::named("bert-large").block(1, 4096);
  map(chip, block);  // so that the constraints are known
  double through_library = 0, searches = 0;
  for (auto _ : state) {
    for (int i = 1; i <= 1000; ++i) {
      const machine::Chip value = with_bandwidth(chip.value(), 0.01 * i);
      through_library += seconds_of([&] { benchmark::DoNotOptimize(map(chip.with(value), block)); });
      for (const workload::Operator& op : block) {
        const Chip& base = chip.for_role(op.role);
        const auto space = chip.for_role(op.role).space(op.einsum);
        const machine::Chip& runs = &base == &chip ? value : base.value();
        const nest::Model model(op.einsum, runs, {}, space->reuse);
        searches += seconds_of([&] { benchmark::DoNotOptimize(nest::optimize(model, *space, chip.objective())); });
      }
    }
  }
  state.counters["ratio"] = through_library / searches;
  state.SetLabel("goal: a ratio of 1.1 at most");
}

void plans(benchmark::State& state) {
  const Model model = Model::named("gpt3-175b");
  const System system = System::named("a100-selene");
  cluster::Plan plan;
  plan.gpus = 1024, plan.global_batch = 1536, plan.tp = 8, plan.pp = 8, plan.dp = 16;
  plan.recompute = cluster::Recompute::kSelective;
  for (auto _ : state) {
    plan.micro_batch = 3 - plan.micro_batch;
    benchmark::DoNotOptimize(train(model, system, plan));
  }
  state.counters["plans/s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel("goal: 0.5 M plans/s");
}

BENCHMARK_CAPTURE(thousand_bandwidths, gemmini, "gemmini")->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK_CAPTURE(thousand_bandwidths, pim, "pim")->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK(plans);
BENCHMARK(plans)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace orrery
