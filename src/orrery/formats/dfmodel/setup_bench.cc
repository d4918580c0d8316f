// The reader on a graph of the size of a language model's layer, forward and backward.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "orrery/formats/dfmodel/descriptors.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/dfmodel/setup_text.h"

namespace orrery::formats::dfmodel {
namespace {

std::shared_ptr<const base::SourceFile> chain(int kernels) {
  dataflow::Setup setup;
  for (int i = 0; i < kernels; ++i) {
    workload::Kernel kernel;
    kernel.name = fmt::format("Kernel_{}", i);
    kernel.operands = workload::Operands::kInputAndWeight;
    kernel.outer = 160;
    kernel.m = 160;
    kernel.k = 25600;
    kernel.n = 2048;
    kernel.input_bytes = kernel.output_bytes = 104857600;
    kernel.second_bytes = 1310720000;
    kernel.tiling = workload::KernelDimension::kN;
    setup.graph.kernels.push_back(kernel);
    if (i > 0) setup.graph.edges.push_back({i - 1, i});
    if (i > 3) setup.graph.edges.push_back({i - 3, i});
  }
  setup.system.chips = 8;
  setup.system.cores = {640, 32, 6, 1.25};
  setup.system.accelerator.on_chip_bytes = 335544320.0;
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 100;
  setup.system.network = {{dataflow::Link::kRing, 8, 25.0, dataflow::Parallelism::kTensor}};
  setup.execution.workload = dataflow::LanguageModelRun{25600, 160, 160, 2048, 128, 3072, 1, 2048, 1};
  setup.execution.configurations = 6;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "setup.txt";
  file->text = write_setup(setup);
  return file;
}

void ReadSetup(benchmark::State& state) {
  const auto file = chain(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(read_setup(file).setup.graph.edges.size());
}
BENCHMARK(ReadSetup)->Arg(41)->Arg(1000)->Unit(benchmark::kMicrosecond);

// Once a process: the tables of fields and protobuf's descriptors of them.
void BuildDescriptors(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(build_descriptors());
}
BENCHMARK(BuildDescriptors)->Unit(benchmark::kMicrosecond);

void WriteSetup(benchmark::State& state) {
  const dataflow::Setup setup = read_setup(chain(41)).setup;
  for (auto _ : state) benchmark::DoNotOptimize(write_setup(setup).size());
}
BENCHMARK(WriteSetup)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orrery::formats::dfmodel
