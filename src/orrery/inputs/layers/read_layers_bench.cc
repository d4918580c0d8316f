// Goal: a layer's question within 0.2 ms, once its chip was read.
#include <benchmark/benchmark.h>

#include <vector>

#include <source_dir.h>

#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

const std::string kCatalogue = ORRERY_SOURCE_DIR "/catalog";

std::vector<workload::Operator> bert() {
  return workload::model_operators(load_model(kCatalogue, "bert-large").transformer, {1, 512, 0}).operators;
}

struct Gathered {
  ChipFile chip = load_chip(kCatalogue, "gemmini");
  formats::timeloop::Documents documents =
      formats::timeloop::Documents::gather({chip.for_role(workload::OperatorRole::kMatmul).file}, {});
};

std::vector<LayerTask> tasks_of(const formats::timeloop::Documents& documents) {
  std::vector<LayerTask> tasks;
  for (const workload::Operator& op : bert()) tasks.push_back({op.name, op.instances, &documents, op.einsum});
  return tasks;
}

// All layers of BERT-large, the chip read with the first.
void read_model(benchmark::State& state) {
  const Gathered gathered;
  const std::vector<LayerTask> tasks = tasks_of(gathered.documents);
  for (auto _ : state) {
    Estimators estimators({});
    benchmark::DoNotOptimize(read_layers(tasks, estimators));
  }
}
BENCHMARK(read_model)->Unit(benchmark::kMillisecond);

// The same, the chip read with every layer.
void read_model_chip_by_layer(benchmark::State& state) {
  const Gathered gathered;
  const std::vector<workload::Operator> block = bert();
  for (auto _ : state)
    for (const workload::Operator& op : block) benchmark::DoNotOptimize(gathered.documents.read_for(op.einsum));
}
BENCHMARK(read_model_chip_by_layer)->Unit(benchmark::kMillisecond);

// What is searched, once it is read: the questions are values and may be asked again.
void map_model(benchmark::State& state) {
  const Gathered gathered;
  Estimators estimators({});
  const ReadLayers read = read_layers(tasks_of(gathered.documents), estimators);
  for (auto _ : state) benchmark::DoNotOptimize(map_layers(read.questions, {}));
}
BENCHMARK(map_model)->Unit(benchmark::kMillisecond);

void parse_and_gather(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Gathered());
}
BENCHMARK(parse_and_gather)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::verbs
