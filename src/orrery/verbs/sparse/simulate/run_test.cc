// What `sparse simulate` answers: laws that hold whatever the accelerator is, and what it refuses.
#include "orrery/verbs/sparse/pack/run.h"
#include "orrery/verbs/sparse/simulate/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/grouped.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/inputs/masks/sparse_golden_test_util.h"
#include "orrery/inputs/networks/tiny_model_test_util.h"
#include "orrery/verbs/sparse/array_attention_test_util.h"

namespace orrery::verbs {
namespace {

using base::Count;

void expect_sums(const SparseSimulate& answer) {
  const accelerator::Simulation& s = answer.sum;
  EXPECT_EQ(s.phases.all(), s.cycles);
  EXPECT_EQ(s.stalls.all(), s.phases.waiting);
  EXPECT_GT(s.cycles, 0);
  double energy = 0, area = 0;
  for (const PricedPart& part : answer.price.parts) {
    energy += part.energy_pj + part.leakage_pj, area += part.area_um2;
    EXPECT_FALSE(part.basis.empty()) << part.name;
    EXPECT_FALSE(part.sources.empty()) << part.name;
  }
  EXPECT_NEAR(energy, answer.price.energy_pj, 1e-9 * energy);
  EXPECT_NEAR(area, answer.price.area_um2, 1e-9 * area);
}

TEST(SparseSimulate, PhasesWaitsEnergiesAndAreasAddUp) {
  const RandomAttention attention;
  for (const bool overlap : {true, false})
    for (const char* packing : {"pack", "orrery"}) {
      for (SimulateRequest request : {attention.arrays(), attention.masks()}) {
        request.choice.one_after_another = !overlap;
        request.choice.packing = packing;
        expect_sums(simulate_sparse(request));
      }
    }
}

TEST(SparseSimulate, UtilisationIsThatOfThePacking) {
  const RandomAttention attention;
  for (const char* packing : {"pack", "orrery"}) {
    SimulateRequest request = attention.masks();
    request.choice.packing = packing;
    SparsePackRequest packed;
    packed.mask = request.input.mask;
    packed.array = request.choice.instance.array;
    const SparseSimulate answer = simulate_sparse(request);
    for (const masks::PackedScheme& scheme : pack_sparse(packed).schemes) {
      if (scheme.name != packing) continue;
      EXPECT_EQ(answer.sum.blocks, scheme.blocks);
      EXPECT_DOUBLE_EQ(answer.sum.utilization, scheme.utilization);
    }
  }
}

TEST(SparseSimulate, MoreBandwidthAndOverlapNeverTakeMoreCycles) {
  const RandomAttention attention;
  SimulateRequest request = attention.arrays();
  Count last = std::numeric_limits<Count>::max();
  for (const double bandwidth : {1e9, 16e9, 128e9, HUGE_VAL}) {
    request.choice.instance.bandwidth = bandwidth;
    request.choice.one_after_another = true;
    const Count apart = simulate_sparse(request).sum.cycles;
    request.choice.one_after_another = false;
    const Count beside = simulate_sparse(request).sum.cycles;
    EXPECT_LE(beside, apart) << bandwidth;
    EXPECT_LE(beside, last) << bandwidth;
    last = beside;
  }
}

TEST(SparseSimulate, FixedPointIsNearDoublePrecisionAndPruningIsTheRestOfTheError) {
  const RandomAttention attention;
  const SparseSimulate answer = simulate_sparse(attention.arrays(0.002));
  ASSERT_TRUE(answer.sum.max_relative_error && answer.relative_error && answer.pruning_error);
  EXPECT_LT(*answer.sum.max_relative_error, 0.02);
  EXPECT_NEAR(*answer.relative_error, *answer.pruning_error, 0.02);
  const SparseSimulate sparser = simulate_sparse(attention.arrays(0.05));
  EXPECT_LT(sparser.kept, answer.kept);
  EXPECT_GT(*sparser.pruning_error, *answer.pruning_error);
}

TEST(SparseSimulate, EqualMasksTakeTwiceAsLongTogether) {
  const RandomAttention attention;
  SimulateRequest one = attention.masks();
  const SparseSimulate single = simulate_sparse(one);
  attention.mask("two/a.npy", 4, 0.15);
  attention.mask("two/b.npy", 4, 0.15);
  one.input.mask = attention.folder.string() + "/two";
  const SparseSimulate both = simulate_sparse(one);
  ASSERT_EQ(both.cases.size(), 2U);
  EXPECT_EQ(both.sum.cycles, 2 * single.sum.cycles);
  EXPECT_EQ(both.sum.bytes.all(), 2 * single.sum.bytes.all());
  EXPECT_DOUBLE_EQ(both.sum.utilization, single.sum.utilization);
  EXPECT_NEAR(both.price.energy_pj, 2 * single.price.energy_pj, 1e-6 * both.price.energy_pj);
  EXPECT_DOUBLE_EQ(both.price.area_um2, single.price.area_um2);
}

TEST(SparseSimulate, AMaskGivenBesideTheArraysIsTheOneThatIsComputed) {
  const RandomAttention attention;
  SimulateRequest request = attention.arrays();
  request.input.threshold.reset();
  request.input.mask = attention.mask("mask.npy", 4, 0.15);
  const SparseSimulate answer = simulate_sparse(request);
  const SparseSimulate alone = simulate_sparse(attention.masks());
  EXPECT_EQ(answer.kept, alone.kept);
  EXPECT_EQ(answer.sum.blocks, alone.sum.blocks);
  EXPECT_TRUE(answer.sum.max_relative_error.has_value());
  EXPECT_FALSE(alone.sum.max_relative_error.has_value());
}

TEST(SparseSimulate, EachAttentionOfAModelIsACaseAndALayerCanBeChosen) {
  const TinyModel tiny("array_model");
  SimulateRequest request;
  request.input.texts.checkpoint = tiny.folder;
  request.input.texts.data = tiny.sentences("texts.csv", 2, 5);
  request.input.texts.pruning.calibrate = true;  // the checkpoint has thresholds for one layer only
  request.input.threshold = 0.05;
  request.choice.instance.array = {8, 4, 16};
  const SparseSimulate all = simulate_sparse(request);
  ASSERT_EQ(all.cases.size(), 4U);  // two layers, two texts
  EXPECT_EQ(all.cases.front().name, "encoder.0");
  EXPECT_TRUE(all.cases.front().predicted);
  expect_sums(all);
  request.input.layer = "1";
  const SparseSimulate second = simulate_sparse(request);
  ASSERT_EQ(second.cases.size(), 2U);
  EXPECT_EQ(second.cases.front().name, "encoder.1");
  EXPECT_EQ(second.cases.front().of.run.cycles, all.cases[1].of.run.cycles);
  request.input.layer = "2";
  EXPECT_EQ(base::codes_of([&] { simulate_sparse(request); }), base::Codes{"O1902"});
}

TEST(SparseSimulate, AnInterruptKeepsTheCasesThatAreDone) {
  const RandomAttention attention;
  SimulateRequest request = attention.masks();
  attention.mask("two/a.npy", 4, 0.15);
  attention.mask("two/b.npy", 5, 0.15);
  request.input.mask = attention.folder.string() + "/two";
  std::atomic<bool> stop = false;
  request.limits.stop = &stop;
  request.progress = [&](std::size_t done, std::size_t) { stop = done == 1; };
  const SparseSimulate answer = simulate_sparse(request);
  EXPECT_TRUE(answer.interrupted);
  ASSERT_EQ(answer.cases.size(), 1U);
  EXPECT_EQ(answer.unfinished.size(), 1U);
  expect_sums(answer);
}

TEST(SparseSimulate, RefusesWhatDoesNotFit) {
  const RandomAttention attention;
  SimulateRequest request = attention.arrays();
  request.input.arrays.value.clear();
  EXPECT_EQ(base::codes_of([&] { simulate_sparse(request); }), base::Codes{"O1900"});
  request.input.arrays.value = attention.array("wide.npy", 3, 12);
  EXPECT_EQ(base::codes_of([&] { simulate_sparse(request); }), base::Codes{"O1901"});
  request = attention.arrays();
  request.choice.score_keys = 16;
  EXPECT_EQ(base::codes_of([&] { simulate_sparse(request); }), base::Codes{"O1893"});
  request = attention.arrays();
  request.choice.instance.numbers.sum = {16, 12};
  for (const std::string& code : base::codes_of([&] { simulate_sparse(request); })) EXPECT_EQ(code, "O1890");
}

TEST(SparseSimulate, AClothMaskHasThePackingsUtilisationAndTheModelsTerms) {
  SKIP_WITHOUT_GOLDENS();
  SimulateRequest request;
  request.input.mask = kGoldens + "cloth_s512_thr2e-3";
  const SparseSimulate answer = simulate_sparse(request);
  expect_sums(answer);
  EXPECT_NEAR(answer.sum.utilization, 0.358, 0.0005);  // as the reference counts the pack unit's blocks
  EXPECT_NEAR(answer.density, 0.117, 0.0005);
  ASSERT_TRUE(answer.shape && answer.whole);
  EXPECT_NEAR(answer.shape->load_balance, 0.446, 0.0005);
  double v1 = 0, v2 = 0;
  for (const LatencyLine& line : answer.lines) v1 += line.v1_ms.value_or(0), v2 += line.v2_ms.value_or(0);
  const double projections = answer.whole->projections_ms + answer.whole->output_as_pruned_ms;
  EXPECT_NEAR(v1 + projections, answer.whole->v1_ms, 1e-9);
  EXPECT_NEAR(v2 + projections, answer.whole->v2_ms, 1e-9);
}

TEST(SparseSimulate, TheDocumentsCyclesAreTheSimulations) {
  SKIP_WITHOUT_GOLDENS();
  const std::string document = base::contents(base::kCheckout / "docs/model/sparse_speedup.md");
  const std::string folder = kGoldens + "cloth_s512_thr2e-3/";
  SimulateRequest request;
  request.limits.threads = 2;
  request.input.arrays.query = folder + "Q.npy", request.input.arrays.key = folder + "K.npy";
  request.input.arrays.value = folder + "K.npy";  // the reference has none; cycles do not depend on them
  request.input.arrays.valid = folder + "attn_valid.npy";
  const auto said = [&](const SparseSimulate& answer) {
    const std::string cycles = base::grouped(static_cast<double>(answer.sum.cycles));
    EXPECT_NE(document.find(cycles), std::string::npos) << cycles << " is not in the document";
  };
  said(simulate_sparse(request));
  request.choice.packing = "orrery";
  said(simulate_sparse(request));
}

}  // namespace
}  // namespace orrery::verbs
