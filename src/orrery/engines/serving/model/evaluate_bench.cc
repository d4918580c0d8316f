// Deployments per second: one argument is one deployment evaluated, of a dense model and of a mixture.
#include "orrery/engines/serving/model/evaluate.h"

#include <benchmark/benchmark.h>

#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

void evaluate_all(benchmark::State& state, const ServedModel& model, const Load& load) {
  const cluster::System system = test_system();
  const ServedRoofline operators(system.accelerator);
  const Deployment all[] = {{}, {.tp = 2}, {.replicas = 2, .tp = 4}, {.tp = 8}};
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(evaluate(model, system, all[next], load, operators).tpot);
    next = (next + 1) % std::size(all);
  }
  state.SetItemsProcessed(state.iterations());
}

Load load_of(bool rate) {
  Load out;
  out.prompt = Lengths::constant(1000), out.output = Lengths::constant(300);
  (rate ? out.rate : out.concurrency) = rate ? 4 : 64;
  return out;
}

void evaluate_served(benchmark::State& state) {
  evaluate_all(state, state.range(0) == 0 ? test_model() : test_model(test_mixture()), load_of(state.range(1) != 0));
}
BENCHMARK(evaluate_served)->ArgsProduct({{0, 1}, {0, 1}})->ArgNames({"mixture", "rate"});

}  // namespace
}  // namespace orrery::serving
