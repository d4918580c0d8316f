// Goal: estimating one chip takes 5 ms in all; choosing and adding up, without the estimators' own work, is
// microseconds.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "orrery/describe/energy/dram.h"
#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/energy/library.h"

namespace orrery::energy {
namespace {

Attributes attributes(base::Count width) {
  return {{"technology", Value(std::string("32nm"))}, {"global_cycle_seconds", Value(1.2e-9)},
          {"cycle_seconds", Value(1.2e-9)},           {"action_latency_cycles", Value(base::Count{1})},
          {"n_instances", Value(base::Count{1})},     {"width", Value(width)}};
}

// The storages and the mac of a Gemmini, as many components as asked for, no two alike.
std::vector<Component> chip(base::Count components) {
  std::vector<Component> chip;
  for (base::Count i = 0; i < components; ++i) {
    Component one;
    one.name = "Level" + std::to_string(i);
    for (base::Count part = 0; part < 3; ++part)
      one.primitives.push_back({one.name + ".part", "adder", attributes(8 + 3 * i + part), 1, {}});
    for (const char* action : {"read", "write", "update", "leak"})
      one.actions.push_back({action, {}, {{0, action, {}, 1}, {1, action, {}, 2}, {2, action, {}, 0.5}}});
    chip.push_back(std::move(one));
  }
  return chip;
}

void estimate_chip(benchmark::State& state) {
  const NodeScaling nodes{{45, 32}, {{1.103, -0.362, 0.2767}, {0.9559, -0.7823, 0.471}}, {{1, 0.46}, {2.2, 1}}};
  std::vector<LibraryRow> rows;
  for (int i = 0; i < 40; ++i)
    rows.push_back({{i % 4 == 0 ? "adder" : "other"},
                    {"read", "write", "update", "leak"},
                    {{{"technology"}, {"45nm"}, false}, {{"width", "datawidth"}, {std::to_string(8 + i)}, false}},
                    0.21,
                    278,
                    Basis::kPublished,
                    "a book"});
  std::vector<std::unique_ptr<Estimator>> estimators;
  estimators.push_back(std::make_unique<Library>(rows, nodes));
  estimators.push_back(std::make_unique<Dram>(std::vector<DramType>{{"LPDDR4", 8, "a book"}}));
  const std::vector<Component> components = chip(state.range(0));
  for (auto _ : state) {
    base::Diagnostics found;
    benchmark::DoNotOptimize(estimate(components, estimators, {}, found));
    if (found.has_errors()) state.SkipWithError("a figure is missing");
  }
}
BENCHMARK(estimate_chip)->Arg(6)->Arg(60)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orrery::energy
