// The solvers on the graphs of published runs: a trillion-parameter layer forward and backward, GPT-3 forward with free
// cores over all tile sizes, four layers backward, Linpack pinned.
#include <benchmark/benchmark.h>

#include <vector>

#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"
#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {
namespace {

void report(benchmark::State& state, const PartitionOptimum& found) {
  state.counters["sum_ns"] = found.cost.sum_interval_ns;
  state.counters["gap"] = found.certificate.gap;
  state.counters["sets"] = static_cast<double>(found.certificate.evaluated);
  state.SetLabel(found.method);
}

PartitionProblem readme() {
  const Setup setup = cases::readme();
  return lower(setup, cases::readme_optimum(setup), kGen1);
}

void trillion_parameters(benchmark::State& state) {
  const PartitionProblem problem = readme();
  PartitionOptimum found;
  for (auto _ : state) found = optimize(problem);
  report(state, found);
}
BENCHMARK(trillion_parameters)->Unit(benchmark::kMillisecond);

std::vector<PartitionProblem> gpt3_tiles() {
  const Setup setup = cases::gpt3_4x2();
  std::vector<PartitionProblem> problems;
  for (Count tiles = 1; tiles <= 2048; tiles *= 2) {
    const Mapping mapping = cases::mapping(setup, {.tensor = 4, .data = 2, .sizes = {4, 2}}, tiles, {});
    problems.push_back(lower(setup, mapping, kGen2));
  }
  return problems;
}

void free_cores_twelve_tile_sizes(benchmark::State& state) {
  const std::vector<PartitionProblem> problems = gpt3_tiles();
  PartitionOptimum best;
  for (auto _ : state) {
    best = {};
    for (const PartitionProblem& problem : problems) {
      PartitionOptimum found = optimize(problem);
      if (found.assignment && (!best.assignment || found.cost.sum_interval_ns < best.cost.sum_interval_ns)) {
        best = std::move(found);
      }
    }
  }
  report(state, best);
}
BENCHMARK(free_cores_twelve_tile_sizes)->Unit(benchmark::kMillisecond);

void lower_twelve_tile_sizes(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(gpt3_tiles());
}
BENCHMARK(lower_twelve_tile_sizes)->Unit(benchmark::kMillisecond);

// `layers` layers backward in three configurations each.
PartitionProblem backward(Count layers) {
  using enum workload::KernelDimension;
  Setup setup = cases::readme();
  setup.graph = workload::language_model_graph({.hidden = 25600, .heads = 160, .head_width = 160, .ffn = 102400}, 2048,
                                               workload::Passes::kBackward, layers);
  setup.execution.configurations = static_cast<int>(3 * layers);
  const std::vector<workload::KernelDimension> layer = {kNone,  kNone,  kM, kM,     kK,     kNone,  kNone,  kM,
                                                        kOuter, kOuter, kK, kOuter, kOuter, kOuter, kOuter, kOuter,
                                                        kOuter, kM,     kM, kM,     kM,     kM,     kM};
  Mapping mapping;
  mapping.degrees = {.tensor = 8, .pipeline = 128, .sizes = {8, 128}};
  mapping.tiles = 2048;
  for (Count l = 0; l < layers; ++l) mapping.sharding.insert(mapping.sharding.end(), layer.begin(), layer.end());
  PartitionProblem problem = lower(setup, mapping, kGen1);
  for (PartitionKernel& kernel : problem.kernels) kernel.first = 0;  // no forward pass needs the first half
  return problem;
}

void layers_backward(benchmark::State& state) {
  const PartitionProblem problem = backward(state.range(0));
  PartitionOptimum found;
  PartitionLimits limits;
  limits.seconds = 20;
  for (auto _ : state) found = optimize(problem, limits);
  report(state, found);
}
BENCHMARK(layers_backward)->Arg(1)->Arg(2)->Arg(4)->Unit(benchmark::kMillisecond);

void linpack_pinned(benchmark::State& state) {
  const Setup setup = cases::hpl_circe();
  const PartitionProblem problem = lower(setup, cases::whole_machine(setup), kGen2);
  PartitionOptimum found;
  for (auto _ : state) found = optimize(problem);
  report(state, found);
}
BENCHMARK(linpack_pinned)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orrery::dataflow
