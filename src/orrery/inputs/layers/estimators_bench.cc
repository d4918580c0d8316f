// Goal: 5 ms for a chip from first to last: the catalogue's figures read, its documents read, every component
// estimated.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

void estimate_chip(benchmark::State& state) {
  const std::string folder = ORRERY_SOURCE_DIR "/examples/gemmini_raw/";
  for (auto _ : state) {
    std::vector<std::shared_ptr<const base::SourceFile>> files;
    for (const char* name : {"arch.yaml", "components.yaml", "variables.yaml"})
      files.push_back(formats::yaml::read_file(folder + name));
    formats::timeloop::Specification specification = formats::timeloop::Documents::gather(files, {}).read();
    Estimators estimators({});
    benchmark::DoNotOptimize(complete(specification, estimators));
  }
}
BENCHMARK(estimate_chip)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::verbs
