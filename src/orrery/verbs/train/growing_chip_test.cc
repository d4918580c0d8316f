// More of a resource leaves every mapping of a chip possible that was so before, and none of them slower: no phase of a
// training run may take longer for it.
#include <gtest/gtest.h>

#include <vector>

#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {
namespace {

// Fields of a chip of the catalogue and values larger than the entry's. Some arrays grow by one row: nothing divides by
// that, so it can only be left idle.
struct Growth {
  const char* chip;
  std::vector<base::Override> more;
  bool for_every_model = false;
};

const std::vector<Growth>& growths() {
  static const std::vector<Growth> all = {
      {"tpu-v4i", {{"arch.Columns.meshX", "129"}, {"arch.HBM.shared_bandwidth", "1168"}}},
      {"tpu",
       {{"arch.PECols.meshX", "257"},
        {"arch.PERows.meshY", "512"},
        {"arch.DRAM.read_bandwidth", "5"},
        {"arch.UnifiedBuffer.depth", "30000000"},
        {"arch.Accumulator.depth", "6000"}}},
      {"gemmini",
       {{"arch.PECols.meshX", "17"},
        {"arch.PERows.meshY", "32"},
        {"arch.DRAM.write_bandwidth", "8"},
        {"arch.Scratchpad.depth", "40000"},
        {"arch.Accumulator.depth", "8192"}},
       true},
      {"eyeriss",
       {{"arch.PEColumns.meshX", "15"},
        {"arch.PE.meshY", "24"},
        {"arch.GlobalBuffer.depth", "200000"},
        {"arch.WRegister.depth", "512"},
        {"arch.DRAM.read_bandwidth", "8"}}},
      {"simba",
       {{"arch.PE.meshX", "17"},
        {"arch.Lanes.meshY", "8"},
        {"arch.GlobalBuffer.depth", "100000"},
        {"arch.PEAccuBuffer.depth", "256"},
        {"arch.DRAM.read_bandwidth", "8"}},
       true},
      {"factorflow-tpu", {{"arch.PECols.meshX", "257"}, {"arch.PERows.meshY", "512"}}},
      {"factorflow-gemmini", {{"arch.PECols.meshX", "17"}, {"arch.PERows.meshY", "32"}}},
      {"factorflow-simba", {{"arch.PE.meshX", "32"}, {"arch.GlobalBuffer.depth", "100000"}}},
      {"factorflow-eyeriss", {{"arch.PEColumns.meshX", "28"}, {"arch.OutRegister.depth", "64"}}},
  };
  return all;
}

TrainRequest run_of(const std::string& model) {
  TrainRequest request;
  request.model = model;
  request.system = "dgx-h100";
  request.gpus = 4, request.tp = 2, request.pp = 1, request.dp = 2, request.global_batch = 4;
  request.seq = 192;
  request.recompute = cluster::Recompute::kFull;
  // A wait for the host is shared between backward pass and recomputation as their work is.
  request.overrides = {{"model.layers", "2"}, {"system.accelerator.host_time_per_operator", "0 s"}};
  return request;
}

struct Asked {
  const char* model;
  bool every_chip = false;
};

class GrowingChip : public ::testing::TestWithParam<Asked> {};

TEST_P(GrowingChip, MoreUnitsBandwidthOrMemorySlowNoPhaseOfARun) {
  const auto phases = [](const TrainedModel& trained) {
    const cluster::Breakdown& b = trained.iteration.breakdown;
    return std::vector<std::pair<const char*, double>>{
        {"forward", b.forward},     {"backward", b.backward}, {"recomputation", b.recompute},
        {"optimiser", b.optimizer}, {"all", b.sum()},
    };
  };
  for (const Growth& growth : growths()) {
    if (!GetParam().every_chip && !growth.for_every_model) continue;
    TrainRequest request = run_of(GetParam().model);
    request.chip = growth.chip;
    const TrainedModel before = train(request);
    ASSERT_TRUE(before.unproven.empty()) << growth.chip;
    for (const base::Override& more : growth.more) {
      TrainRequest larger = request;
      larger.overrides.push_back(more);
      const TrainedModel after = train(larger);
      ASSERT_TRUE(after.unproven.empty()) << growth.chip << ' ' << more.path;
      const auto was = phases(before), is = phases(after);
      for (std::size_t i = 0; i < was.size(); ++i)
        EXPECT_LE(is[i].second, was[i].second * (1 + 1e-9))
            << growth.chip << ' ' << more.path << '=' << more.value << ": " << is[i].first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GrowingChip,
                         ::testing::Values(Asked{"bert-base", true}, Asked{"qwen3-30b-a3b"}, Asked{"llama3-8b"}));

}  // namespace
}  // namespace orrery::verbs
