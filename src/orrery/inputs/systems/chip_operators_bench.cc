// The seam between scales: products of a training run on a chip, searched once, then looked up.
//
// The shapes are those of a layer of Llama 3 405B and of its logits on 8 tensor-parallel ranks, sequences of 8,192:
// forward, with respect to the input, with respect to the weights.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/inputs/systems/system_chip.h"

namespace orrery::verbs {
namespace {

const std::string kCatalogue = ORRERY_SOURCE_DIR "/catalog/chips/";

std::vector<machine::MatrixProduct> products() {
  constexpr base::Count kTokens = 8192, kHidden = 16384, kRanks = 8;
  std::vector<machine::MatrixProduct> out;
  const auto linear = [&](base::Count columns, base::Count rows) {
    out.push_back({1, kTokens, columns, rows});
    out.push_back({1, kTokens, rows, columns});
    out.push_back({1, rows, columns, kTokens});
  };
  linear((128 + 2 * 8) * 128 / kRanks, kHidden);
  linear(kHidden, 128 * 128 / kRanks);
  linear(2 * 53248 / kRanks, kHidden);
  linear(kHidden, 53248 / kRanks);
  linear(128256 / kRanks, kHidden);
  out.push_back({128 / kRanks, kTokens, 128, kTokens});
  return out;
}

// Seconds until every product is proven: the first plan of a run on this chip.
void search(benchmark::State& state, const char* chip) {
  SystemChip read(kCatalogue + chip + ".yaml", {}, {});
  for (auto _ : state) {
    const std::unique_ptr<ChipOperators> operators = read.operators({.threads = 2}, 0);
    operators->prepare(products());
    if (!operators->unproven().empty()) state.SkipWithError("a product is not proven");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(products().size()));
}
BENCHMARK_CAPTURE(search, tpu_v4i, "tpu-v4i")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(search, edge_npu, "edge-npu")->Unit(benchmark::kMillisecond)->UseRealTime();

// What each further plan pays for a product.
void look_up(benchmark::State& state) {
  SystemChip read(kCatalogue + "tpu-v4i.yaml", {}, {});
  const std::unique_ptr<ChipOperators> operators = read.operators({.threads = 2}, 0);
  operators->prepare(products());
  const std::vector<machine::MatrixProduct> all = products();
  for (auto _ : state) {
    double sum = 0;
    for (const machine::MatrixProduct& product : all) sum += operators->matrix_product_seconds(product);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}
BENCHMARK(look_up);

}  // namespace
}  // namespace orrery::verbs
