// A chip in the place of a system's accelerator: laws of the seam between the scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/inputs/systems/system_chip.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {
namespace {

// A storage of `bandwidth` words a cycle before `units` multipliers, nothing constrained, nothing in between.
std::string flat_chip(base::Count units, double bandwidth) {
  return fmt::format(R"(
architecture:
  version: 0.4
  nodes:
  - !Container {{name: System}}
  - !Component
    name: Memory
    class: DRAM
    attributes: {{datawidth: 16, width: 16, depth: 68719476736, shared_bandwidth: {}}}
  - !Container
    name: Lanes
    spatial: {{meshX: {}}}
  - !Component
    name: MAC
    class: intmac
    attributes: {{multiplier_width: 16, adder_width: 32}}
variables: {{version: 0.4, global_cycle_seconds: 1.0e-9}}
ERT:
  version: 0.4
  tables:
  - {{name: 'System.Memory[1..1]', actions: [{{name: read, energy: 2}}, {{name: write, energy: 4}}, {{name: update, energy: 4}}, {{name: leak, energy: 0}}]}}
  - {{name: 'System.MAC[1..{}]', actions: [{{name: compute, energy: 0.5}}, {{name: leak, energy: 0}}]}}
)",
                     bandwidth, units, units);
}

TrainRequest small_run() {
  TrainRequest request;
  request.model = "gpt3-6.7b";
  request.system = "dgx-h100";
  request.gpus = 16, request.global_batch = 8, request.tp = 4, request.pp = 2, request.dp = 2;
  request.overrides = {
      {"model.layers", "4"}, {"model.vocab", "32768"}, {"system.accelerator.host_time_per_operator", "0 s"}};
  return request;
}

TEST(TrainOnAChip, AChipWhoseNestIsItsRooflineTakesTheSameSeconds) {
  const base::Folder folder;
  TrainRequest request = small_run();
  request.chip = folder.write("flat.yaml", flat_chip(4096, 1e9));
  const TrainedModel nest = train(request);
  EXPECT_EQ(nest.operators, "chip");
  EXPECT_TRUE(nest.unproven.empty());
  EXPECT_GT(nest.searched, 10);
  const cluster::Iteration roof =
      cluster::evaluate(nest.model, nest.system, nest.plan, machine::Roofline(nest.system.accelerator));
  EXPECT_NEAR(nest.iteration.iteration_s, roof.iteration_s, 1e-9 * roof.iteration_s);
  EXPECT_NEAR(nest.iteration.breakdown.forward, roof.breakdown.forward, 1e-9 * roof.breakdown.forward);
}

TEST(TrainOnAChip, ASystemThatNamesItsChipRunsAsWithThatChipGiven) {
  const base::Folder folder;
  TrainRequest given = small_run();
  given.chip = folder.write("flat.yaml", flat_chip(4096, 1e9));
  TrainRequest named = small_run();
  named.system = folder.write(
      "mine.yaml", "system:\n  like: dgx-h100\n  accelerator: {chip: ./flat.yaml, power: 300 W, price: 2 USD/h}\n");
  const TrainedModel a = train(given), b = train(named);
  EXPECT_EQ(b.operators, "chip");
  EXPECT_EQ(a.iteration.breakdown.forward, b.iteration.breakdown.forward);
  EXPECT_EQ(a.iteration.breakdown.optimizer, b.iteration.breakdown.optimizer);
  EXPECT_EQ(a.iteration.capacity_bytes, b.iteration.capacity_bytes);
  EXPECT_EQ(b.system.watts_per_gpu, 300);
  EXPECT_EQ(b.system.price_per_gpu_hour, 2);

  named.overrides.emplace_back(base::Override{"arch.Memory.shared_bandwidth", "128"});
  given.overrides.emplace_back(base::Override{"arch.Memory.shared_bandwidth", "128"});
  EXPECT_EQ(train(named).iteration.breakdown.forward, train(given).iteration.breakdown.forward);

  named.chip = folder.write("other.yaml", flat_chip(1024, 1e9));
  named.overrides.pop_back();
  given.chip = named.chip;
  given.overrides.pop_back();
  EXPECT_EQ(train(named).iteration.breakdown.forward, train(given).iteration.breakdown.forward) << "--chip wins";
}

TEST(TrainOnAChip, WhatASystemsChipSaysIsNotSaidAgain) {
  const base::Folder folder;
  TrainRequest request = small_run();
  folder.write("flat.yaml", flat_chip(4096, 1e9));
  const auto codes = [&](const std::string& accelerator, const base::Overrides& more = {}) {
    request.system =
        folder.write("mine.yaml", "system:\n  like: dgx-h100\n  accelerator: {chip: ./flat.yaml" + accelerator + "}\n");
    TrainRequest asked = request;
    asked.overrides.insert(asked.overrides.end(), more.begin(), more.end());
    return base::codes_of([&] { train(asked); });
  };
  using Codes = std::vector<std::string>;
  EXPECT_EQ(codes(""), Codes{});
  EXPECT_EQ(codes(", memory: 80 GB"), Codes{"O1393"});
  EXPECT_EQ(codes(", peak: {bf16: 1 PFLOP/s}, fill_depth: 3"), (Codes{"O1393", "O1393"}));
  EXPECT_EQ(codes("", {{"system.accelerator.memory_bandwidth", "2 TB/s"}}), Codes{"O1393"});
  EXPECT_EQ(codes(", unitz: 4"), Codes{"O1351"});
  EXPECT_EQ(codes("", {{"system.accelerator.chip", "tpu-v4"}}), Codes{"O1355"});
}

TEST(TrainOnAChip, MoreMultipliersOrAWiderPortNeverSlowARun) {
  const base::Folder folder;
  for (const bool units : {true, false}) {
    double before = std::numeric_limits<double>::infinity();
    for (const int factor : {1, 2, 3, 8, 64}) {
      TrainRequest request = small_run();
      request.chip = folder.write("chip.yaml", units ? flat_chip(64 * factor, 256) : flat_chip(4096, 16.0 * factor));
      const double seconds = train(request).iteration.iteration_s;
      EXPECT_LE(seconds, before * (1 + 1e-12)) << (units ? "units " : "bandwidth ") << factor;
      before = seconds;
    }
  }
}

TEST(TrainOnAChip, JoulesAreThoseOfEveryOperatorOnEveryAccelerator) {
  const base::Folder folder;
  TrainRequest request = small_run();
  request.chip = folder.write("flat.yaml", flat_chip(4096, 1e9));
  const TrainedModel trained = train(request);
  ASSERT_TRUE(trained.joules);
  // Each multiply-accumulate 0.5 pJ; each word at least once, 2 pJ, of what is no product 3 pJ on average.
  double least = 0;
  for (const RunOperator& one : trained.listed) {
    const double macs = one.use.one.product.flops() / 2;
    least += one.use.times *
             (one.use.one.kind == machine::OperatorKind::kProduct ? 0.5e-12 * macs : 1.5e-12 * one.use.one.bytes);
  }
  EXPECT_GT(*trained.joules, least * 16 / 2);
  double shares = 0;
  for (const RunOperator& one : trained.listed) shares += one.share;
  EXPECT_NEAR(shares, 1, 1e-12);
}

TEST(TrainOnAChip, TheListOfOperatorsIsWhatWasPriced) {
  TrainRequest request = small_run();
  request.by_operator = true;
  const TrainedModel trained = train(request);
  const cluster::Iteration& i = trained.iteration;
  double all = 0;
  for (const RunOperator& one : trained.listed)
    if (one.use.pass != cluster::OperatorPass::kStep) all += one.seconds;
  // Two equal stages but for the table and the logits; hosts take no time here.
  EXPECT_GT(all, i.breakdown.forward + i.breakdown.backward);
  EXPECT_LT(all, 2.1 * (i.breakdown.forward + i.breakdown.backward));
  EXPECT_FALSE(trained.joules);  // a roofline knows no energies
}

TEST(TrainOnAChip, WhatContradictsAChipIsRefused) {
  const base::Folder folder;
  const std::string chip = folder.write("flat.yaml", flat_chip(64, 64));
  const auto code = [](const TrainRequest& request) { return base::refused([&] { train(request); }).at(0).code; };
  TrainRequest request = small_run();
  request.chip = chip;
  request.overrides.push_back({"system.accelerator.peak.bf16", "1 TFLOP/s"});
  EXPECT_EQ(code(request), "O1393");
  request = small_run();
  request.chip = chip;
  request.overrides.push_back({"system.accelerator.memory", "80 GB"});  // the chip states its own
  EXPECT_EQ(code(request), "O1393");
  request = small_run();
  request.chip = chip;
  request.efficiency = 0.5;
  EXPECT_EQ(code(request), "O1393");
  request = small_run();
  request.overrides.push_back({"arch.Lanes.meshX", "128"});
  EXPECT_EQ(code(request), "O1393");
  request = small_run();
  std::string portless = flat_chip(64, 64);
  portless.replace(portless.find(", shared_bandwidth: 64"), std::string(", shared_bandwidth: 64").size(), "");
  request.chip = folder.write("portless.yaml", portless);
  EXPECT_EQ(code(request), "O1390");
  request.overrides.push_back({"arch.Memory.shared_bandwidth", "64"});
  EXPECT_NO_THROW(train(request));
}

TEST(TrainOnAChip, WordsOfAnotherWidthThanTheRunsAreNamed) {
  const base::Folder folder;
  TrainRequest request = small_run();
  request.chip = folder.write("flat.yaml", flat_chip(64, 64));
  const auto warned = [&] {
    const base::Diagnostics warnings = train(request).warnings;
    return std::any_of(warnings.all().begin(), warnings.all().end(),
                       [](const base::Diagnostic& one) { return one.code == "O1394"; });
  };
  EXPECT_FALSE(warned());
  request.precision = machine::Precision::kFp32;
  EXPECT_TRUE(warned());
}

TEST(TrainOnAChip, ScoresAreQueriesByWidthByKeysAndPricedAsAProductOfAsManyOperations) {
  const base::Folder folder;
  TrainRequest request = small_run();
  request.chip = folder.write("flat.yaml", flat_chip(4096, 1e9));
  request.attention = cluster::Attention::kFlash;
  const TrainedModel trained = train(request);
  int scores = 0;
  for (const RunOperator& listed : trained.listed) {
    EXPECT_EQ(listed.use.computes.has_value(), listed.use.name == "scores") << listed.use.name;
    if (!listed.use.computes) continue;
    ++scores;
    EXPECT_EQ(listed.use.computes->m, trained.model.seq);
    EXPECT_EQ(listed.use.computes->k, trained.description.sizes.head_width);
    EXPECT_EQ(listed.use.computes->n, trained.model.seq);
    EXPECT_EQ(listed.use.computes->flops(), listed.use.one.product.flops());
  }
  EXPECT_EQ(scores, 2) << "forwards and backwards";
}

TEST(TrainOnAChip, AnInterruptIsToldWithHowManyProductsWereMapped) {
  TrainRequest request = small_run();
  request.chip = "tpu-v4i", request.cp = 1;
  request.overrides.push_back({"arch.HBM.depth", "103079215104"});
  const std::atomic<bool> stop{true};
  request.interruptible = [&] { return &stop; };
  const TrainedModel trained = train(request);
  const auto& all = trained.warnings.all();
  const auto told = std::find_if(all.begin(), all.end(), [](const auto& one) { return one.code == "O1395"; });
  ASSERT_NE(told, all.end());
  EXPECT_NE(told->message.find("interrupted when 0 of the"), std::string::npos) << told->message;
  for (const std::string& note : told->notes) EXPECT_EQ(note.find("100.00 %"), std::string::npos) << note;
  for (const std::string& hint : told->hints) EXPECT_EQ(hint.find("--time-limit"), std::string::npos) << hint;
}

// Four layers of a model on a chip of the catalogue.
TrainRequest fused_run(const std::string& model, const std::string& chip, cluster::Attention attention) {
  TrainRequest request;
  request.model = model, request.chip = chip, request.system = "dgx-h100";
  request.gpus = 2, request.global_batch = 4, request.tp = 1, request.pp = 1, request.dp = 2, request.seq = 512;
  request.attention = attention;
  request.overrides = {
      {"model.layers", "4"}, {"model.vocab", "32768"}, {"system.accelerator.host_time_per_operator", "0 s"}};
  return request;
}

TEST(TrainOnAChip, FusedAttentionIsNeverSlowerAndLeavesBackwardPassesAndMemoryAsTheyAre) {
  int taken = 0;
  for (const char* chip : {"tpu-v4i", "near-tpu-v5e"})
    for (const cluster::Attention attention : {cluster::Attention::kMaterialised, cluster::Attention::kFlash}) {
      TrainRequest request = fused_run("bert-base", chip, attention);
      const TrainedModel apart = train(request);
      request.fuse = true;
      const TrainedModel fused = train(request);
      ASSERT_TRUE(fused.fused);
      EXPECT_DOUBLE_EQ(fused.fused->apart_s, apart.iteration.iteration_s);
      EXPECT_LE(fused.iteration.iteration_s, apart.iteration.iteration_s);
      EXPECT_DOUBLE_EQ(fused.iteration.breakdown.backward, apart.iteration.breakdown.backward);
      EXPECT_EQ(fused.iteration.memory.total(), apart.iteration.memory.total());
      const bool less = fused.iteration.breakdown.forward < apart.iteration.breakdown.forward;
      ASSERT_EQ(fused.fused->asked.size(), 1u);  // one size of heads and sequences
      EXPECT_EQ(fused.fused->asked[0].taken, less);
      EXPECT_EQ(fused.fused->asked[0].shape.keeps_weights, attention == cluster::Attention::kMaterialised);
      taken += less ? 1 : 0;
    }
  EXPECT_GT(taken, 0);
}

TEST(TrainOnAChip, WithNoStorageToHandScoresOnInFusionChangesNothingAndIsWarnedOf) {
  const base::Folder folder;
  TrainRequest request = small_run();
  request.chip = folder.write("flat.yaml", flat_chip(4096, 1e9));
  const TrainedModel apart = train(request);
  request.fuse = true;
  const TrainedModel fused = train(request);
  EXPECT_EQ(fused.iteration.iteration_s, apart.iteration.iteration_s);
  ASSERT_EQ(fused.fused->asked.size(), 1u);
  EXPECT_FALSE(fused.fused->asked[0].one.joined);
  const auto said = [](const base::Diagnostic& one) { return one.code == "O1396"; };
  EXPECT_TRUE(std::any_of(fused.warnings.all().begin(), fused.warnings.all().end(), said));
}

}  // namespace
}  // namespace orrery::verbs
