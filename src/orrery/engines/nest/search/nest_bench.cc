// Goals (one thread, Release): evaluate 2 M mappings/s as a library call (windows 1 M, imperfect factors 0.5 M), 10 M
// mappings/s inside the search; a proven optimum of each unfused BERT matmul in 2 ms median, 20 ms at most.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search_rules.h"
#include "orrery/engines/nest/search/seed_chips_test_util.h"

namespace orrery::nest {
namespace {

struct Layer {
  const char* name;
  base::Count e, d, l;
};

// BERT-large with 4096 tokens, BERT-base with 512.
constexpr Layer kLayers[] = {
    {"KQV_large", 1024, 3072, 4096}, {"KTQ_large", 64, 4096, 4096},   {"VScores_large", 4096, 64, 4096},
    {"Out_large", 1024, 1024, 4096}, {"FF1_large", 1024, 4096, 4096}, {"FF2_large", 4096, 1024, 4096},
    {"KQV_base", 768, 2304, 512},    {"KTQ_base", 64, 512, 512},      {"VScores_base", 512, 64, 512},
    {"Out_base", 768, 768, 512},     {"FF1_base", 768, 3072, 512},    {"FF2_base", 3072, 768, 512},
};

void optimum(benchmark::State& state, const testing::SeedCase& seed, const Layer& layer) {
  const workload::Einsum einsum = workload::matmul(layer.name, layer.d, layer.e, layer.l);
  const Model model(einsum, seed.chip, ModelOptions::timeloop());
  Optimum found;
  for (auto _ : state) benchmark::DoNotOptimize(found = optimize(model, seed.space));
  state.counters["evaluated"] = static_cast<double>(found.certificate.evaluated);
  state.counters["space"] = found.certificate.space;
  for (const base::Pruned& pruned : found.certificate.pruned)
    state.counters[pruned.argument] = static_cast<double>(pruned.count);
  state.counters["edp"] = found.evaluation.edp_j_cycles;
  state.counters["proven"] = found.certificate.optimal;
  state.SetLabel("goal: 2 ms median, 20 ms at most");
}

void evaluate(benchmark::State& state, const testing::SeedCase& seed) {
  const workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  const Model model(einsum, seed.chip);
  const Mapping mapping = *optimize(model, seed.space).mapping;
  Evaluation evaluation;
  for (auto _ : state) {
    model.evaluate(mapping, evaluation);
    benchmark::DoNotOptimize(evaluation.energy_pj);
  }
  state.counters["mappings/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel("goal: 2 M mappings/s");
}

// A layer of ResNet-18 (64 channels, 56 x 56, 3 x 3) on three storages, with 16 x 12 compute units.
struct Convolution {
  enum { kR, kS, kP, kQ, kC, kM };
  workload::Einsum einsum{"convolution",
                          {{"R", 3}, {"S", 3}, {"P", 56}, {"Q", 56}, {"C", 64}, {"M", 64}},
                          {{"Weights", {{{{kR, 1}}}, {{{kS, 1}}}, {{{kC, 1}}}, {{{kM, 1}}}}, false},
                           {"Inputs", {{{{kR, 1}, {kP, 1}}}, {{{kS, 1}, {kQ, 1}}}, {{{kC, 1}}}}, false},
                           {"Outputs", {{{{kP, 1}}}, {{{kQ, 1}}}, {{{kM, 1}}}}, true}}};
  machine::Chip chip;
  Mapping mapping;

  Convolution() {
    chip.storages.resize(3);
    LevelMapping level;
    level.temporal = level.spatial = {1, 1, 1, 1, 1, 1};
    level.temporal_order = level.spatial_order = {0, 1, 2, 3, 4, 5};
    level.keep = 0b111;
    mapping.levels = {level, level, level};
    mapping.levels[0].temporal = {3, 1, 1, 1, 4, 1};
    mapping.levels[1].spatial = {1, 3, 4, 1, 1, 16};
    mapping.levels[1].temporal = {1, 1, 1, 56, 2, 1};
    mapping.levels[2].temporal = {1, 1, 14, 1, 8, 4};
  }
};

void evaluate(benchmark::State& state, const Convolution& layer, const char* goal) {
  const Model model(layer.einsum, layer.chip);
  Evaluation evaluation;
  for (auto _ : state) {
    model.evaluate(layer.mapping, evaluation);
    benchmark::DoNotOptimize(evaluation.energy_pj);
  }
  state.counters["mappings/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.SetLabel(goal);
}

void evaluate_windows(benchmark::State& state) {
  evaluate(state, Convolution(), "goal: 1 M mappings/s");
}

// 197 tokens on 16 x 16 compute units, as ViT has them.
void evaluate_imperfect(benchmark::State& state) {
  Convolution layer;
  layer.einsum = workload::matmul("scores", 197, 64, 197);
  LevelMapping level;
  level.temporal = level.spatial = {1, 1, 1};
  level.temporal_order = level.spatial_order = {0, 1, 2};
  level.keep = 0b111;
  layer.mapping.levels = {level, level, level};
  std::vector<base::Count> bounds;
  for (const workload::Dimension& dimension : layer.einsum.dimensions) bounds.push_back(dimension.bound);
  layer.mapping.levels[1].spatial = {16, 1, 16};
  layer.mapping.levels[1].temporal = {4, 16, 4};
  for (std::size_t d = 0; d < 3; ++d) {
    const base::Count within = layer.mapping.levels[1].spatial[d] * layer.mapping.levels[1].temporal[d];
    layer.mapping.levels[2].temporal[d] = (bounds[d] + within - 1) / within;
  }
  complete(layer.mapping, bounds);
  evaluate(state, layer, "goal: 0.5 M mappings/s");
}

BENCHMARK(evaluate_windows);
BENCHMARK(evaluate_imperfect);

// The search's own pricing of complete mappings, with nothing pruned by bounds.
void enumerate_all(benchmark::State& state, const testing::SeedCase& seed, const Layer& layer) {
  const workload::Einsum einsum = workload::matmul(layer.name, layer.d, layer.e, layer.l);
  const Model model(einsum, seed.chip, ModelOptions::timeloop());
  SearchRules limits;
  limits.prune_by_bound = false;
  double evaluated = 0;
  for (auto _ : state)
    evaluated += static_cast<double>(optimize(model, seed.space, {Metric::kEdp}, limits).certificate.evaluated);
  state.counters["mappings/s"] = benchmark::Counter(evaluated, benchmark::Counter::kIsRate);
  state.SetLabel("goal: 10 M mappings/s");
}

void register_all() {
  static const testing::SeedCase gemmini = testing::gemmini(), pim = testing::pim();
  for (const auto* seed : {&gemmini, &pim}) {
    benchmark::RegisterBenchmark(("evaluate/" + seed->chip.name).c_str(),
                                 [seed](benchmark::State& s) { evaluate(s, *seed); });
    benchmark::RegisterBenchmark(("enumerate/" + seed->chip.name).c_str(), [seed](benchmark::State& s) {
      enumerate_all(s, *seed, kLayers[0]);
    })->Unit(benchmark::kMillisecond);
    for (const Layer& layer : kLayers)
      benchmark::RegisterBenchmark(("optimum/" + seed->chip.name + "/" + layer.name).c_str(), [seed, &layer](
                                                                                                  benchmark::State& s) {
        optimum(s, *seed, layer);
      })->Unit(benchmark::kMillisecond);
  }
}

[[maybe_unused]] const bool registered = (register_all(), true);

}  // namespace
}  // namespace orrery::nest
