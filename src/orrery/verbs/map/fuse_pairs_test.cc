#include "orrery/verbs/map/fuse_pairs.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/inputs/layers/layer_question_test_util.h"
#include "orrery/verbs/map/map_fused.h"

namespace orrery::verbs {
namespace {

using Chip = std::shared_ptr<const machine::Chip>;

Chip chip_of_fuse_pairs() {
  return std::make_shared<const machine::Chip>(testing::small_chip());
}

LayerQuestion normalisation(const char* name, Chip on, base::Count l, base::Count e, base::Count instances = 1) {
  LayerQuestion question;
  question.name = name;
  question.einsum = workload::normalisation(name, l, e, 2);
  question.chip = std::move(on);
  question.instances = instances;
  return question;
}

double edp_of(const FusedPair::Choice& choice) {
  return choice.energy_pj * static_cast<double>(choice.cycles) / 1e12;
}

// Each side asked for itself, with the options that one would give.
FusedPair::Choice by_hand(LayerQuestion product, LayerQuestion after, const FuseSides& fuse) {
  if (!fuse.level.empty()) {
    fuse_side(fuse, product);
    fuse_side(fuse, after);
    for (LayerQuestion* side : {&product, &after}) {
      nest::Constraint keep;
      keep.kind = nest::Constraint::Kind::kKeep;
      keep.level = side->chip->storage_index(fuse.level);
      keep.dataspace =
          side == &product ? product.einsum.dataspace_index("Outputs") : after.einsum.dataspace_index("Inputs");
      keep.keep = true;
      side->space.constraints.push_back(keep);
    }
    nest::Constraint once;  // sweeps are over what lies there
    once.kind = nest::Constraint::Kind::kFactor;
    once.level = static_cast<int>(after.chip->storages.size()) - 1;
    once.dimension = after.einsum.dimension_index("D");
    once.value = 1;
    after.space.constraints.push_back(once);
  }
  const MappedModel sides = map_layers({product, after}, {});
  FusedPair::Choice out;
  out.found = sides.layers[0].found() && sides.layers[1].found();
  for (const MappedLayer& side : sides.layers) {
    out.energy_pj += side.optimum.evaluation.energy_pj;
    out.cycles += side.optimum.evaluation.cycles;
  }
  return out;
}

TEST(FusePairs, TheChoiceIsTheLeastOfAllThatCanBeAskedForByHand) {
  for (const auto& [m, k, n] :
       {std::tuple{4, 4, 16}, std::tuple{8, 2, 8}, std::tuple{2, 16, 4}, std::tuple{16, 4, 4}}) {
    const LayerQuestion product = testing::product("P", chip_of_fuse_pairs(), m, k, n);
    const LayerQuestion after = normalisation("N", chip_of_fuse_pairs(), n, m);
    const FusedLayers fused = map_fused({product, after}, {});
    ASSERT_EQ(fused.pairs.size(), 1u);
    const FusedPair& pair = fused.pairs[0];
    ASSERT_TRUE(pair.found);
    ASSERT_EQ(pair.choices.size(), 9u);                       // one storage, three flags, and not fused
    double least = std::numeric_limits<double>::infinity();   // of what has room as it is
    double beside = std::numeric_limits<double>::infinity();  // of all, each side for itself
    double open = std::numeric_limits<double>::infinity();    // of those that are not proven, the same
    for (const FusedPair::Choice& choice : pair.choices) {
      const FusedPair::Choice own = by_hand(product, after, choice.fuse);
      EXPECT_EQ(choice.found, own.found);
      if (!own.found) continue;
      beside = std::min(beside, edp_of(own));
      if (!choice.proven) {  // no room, or mapped again in less
        EXPECT_GE(choice.edp_j_cycles, edp_of(own));
        open = std::min(open, edp_of(own));
        continue;
      }
      EXPECT_EQ(choice.energy_pj, own.energy_pj);
      EXPECT_EQ(choice.cycles, own.cycles);
      EXPECT_DOUBLE_EQ(choice.edp_j_cycles, edp_of(own));
      least = std::min(least, edp_of(own));
    }
    EXPECT_LE(pair.chosen().edp_j_cycles, least);
    EXPECT_DOUBLE_EQ(pair.lower_bound, beside);
    EXPECT_TRUE(pair.chosen().no_room.empty());
    EXPECT_EQ(pair.proven, pair.chosen().edp_j_cycles * (1 + 1e-12) < open) << "what ties may decide";
    EXPECT_LE(pair.chosen().edp_j_cycles, pair.unfused().edp_j_cycles);
  }
}

TEST(FusePairs, TheLayersAreThoseOfTheChoiceAndTheirSumIsItsTotal) {
  const FusedLayers fused = map_fused(
      {testing::product("P", chip_of_fuse_pairs(), 4, 4, 16, 3), normalisation("N", chip_of_fuse_pairs(), 16, 4, 3)},
      {});
  ASSERT_EQ(fused.mapped.layers.size(), 2u);
  const Totals sum = totals(fused.mapped.layers);
  const FusedPair::Choice& chosen = fused.pairs.at(0).chosen();
  EXPECT_EQ(fused.pairs[0].instances, 3);
  EXPECT_DOUBLE_EQ(sum.energy_pj, 3 * chosen.energy_pj);
  EXPECT_EQ(sum.cycles, 3 * chosen.cycles);
}

// A storage that the constraints let nothing but operands through cannot hand a result over.
TEST(FusePairs, WhatAStorageMayNotHoldIsNotHandedOverThere) {
  LayerQuestion product = testing::product("P", chip_of_fuse_pairs(), 4, 4, 16);
  nest::Constraint bypass;
  bypass.kind = nest::Constraint::Kind::kKeep;
  bypass.level = 0;
  bypass.dataspace = product.einsum.dataspace_index("Outputs");
  bypass.keep = false;
  product.space.constraints.push_back(bypass);
  const FusedPair pair = map_fused({product, normalisation("N", chip_of_fuse_pairs(), 16, 4)}, {}).pairs.at(0);
  EXPECT_EQ(pair.best, 0u);
  EXPECT_TRUE(pair.proven);
  for (std::size_t i = 1; i < pair.choices.size(); ++i) EXPECT_EQ(pair.choices[i].without, "P");
}

TEST(FusePairs, ARowOfNormalisationsIsSharedOutToTheProductsBeforeIt) {
  const FusedLayers fused = map_fused(
      {testing::product("A", chip_of_fuse_pairs(), 4, 4, 16), testing::product("B", chip_of_fuse_pairs(), 4, 8, 16),
       testing::product("C", chip_of_fuse_pairs(), 4, 2, 16), normalisation("N", chip_of_fuse_pairs(), 16, 4, 2),
       testing::product("D", chip_of_fuse_pairs(), 8, 2, 16)},
      {});
  ASSERT_EQ(fused.pairs.size(), 2u);
  EXPECT_EQ(fused.pairs[0].product, "B");
  EXPECT_EQ(fused.pairs[1].product, "C");
  ASSERT_EQ(fused.mapped.layers.size(), 6u);
  EXPECT_EQ(fused.mapped.layers[3].name, "N after B");
  EXPECT_EQ(fused.mapped.layers[4].name, "N after C");
  base::Count instances = 0;
  for (const MappedLayer& layer : fused.mapped.layers) instances += layer.instances;
  EXPECT_EQ(instances, 6);
}

TEST(FusePairs, WhatIsLeftOfARowIsMappedWithoutFusion) {
  const LayerQuestion after = normalisation("N", chip_of_fuse_pairs(), 16, 4, 3);
  const FusedLayers fused = map_fused({testing::product("P", chip_of_fuse_pairs(), 4, 4, 16), after}, {});
  ASSERT_EQ(fused.mapped.layers.size(), 3u);
  EXPECT_EQ(fused.mapped.layers[1].instances, 1);
  EXPECT_EQ(fused.mapped.layers[2].instances, 2);
  EXPECT_EQ(fused.mapped.layers[2].optimum.evaluation.energy_pj,
            map_layers({after}, {}).layers[0].optimum.evaluation.energy_pj);
}

TEST(FusePairs, LayersOfOtherSizesMakeNoPair) {
  EXPECT_EQ(base::codes_of([] {
              map_fused({testing::product("P", chip_of_fuse_pairs(), 4, 4, 16),
                         normalisation("N", chip_of_fuse_pairs(), 8, 4)},
                        {});
            }),
            base::Codes{"O2034"});
  EXPECT_EQ(base::codes_of([] {
              map_fused({testing::product("P", chip_of_fuse_pairs(), 4, 4, 16, 2),
                         normalisation("N", chip_of_fuse_pairs(), 16, 4, 1)},
                        {});
            }),
            base::Codes{"O2034"});
}

TEST(FusePairs, TheObjectiveDecides) {
  const LayerQuestion product = testing::product("P", chip_of_fuse_pairs(), 8, 2, 8),
                      after = normalisation("N", chip_of_fuse_pairs(), 8, 8);
  for (const nest::Metric metric : {nest::Metric::kEnergy, nest::Metric::kDelay}) {
    MapOptions options;
    options.objective = {metric};
    const FusedPair pair = map_fused({product, after}, options).pairs.at(0);
    for (const FusedPair::Choice& choice : pair.choices) {
      if (!choice.found) continue;
      if (metric == nest::Metric::kEnergy)
        EXPECT_LE(pair.chosen().energy_pj, choice.energy_pj);
      else
        EXPECT_LE(pair.chosen().cycles, choice.cycles);
    }
  }
}

// Whatever a limit leaves open, the total that is found is not below what all searches together find, nor the bound
// above it.
TEST(FusePairs, TheBoundHoldsOfWhatALimitLeavesOpen) {
  int open = 0;
  for (const nest::Metric metric : {nest::Metric::kEdp, nest::Metric::kEnergy, nest::Metric::kDelay})
    for (const auto& [m, k, n] : {std::tuple{48, 36, 60}, std::tuple{64, 24, 96}, std::tuple{120, 90, 36}}) {
      const std::vector<LayerQuestion> questions = {testing::product("P", chip_of_fuse_pairs(), m, k, n),
                                                    normalisation("N", chip_of_fuse_pairs(), n, m)};
      MapOptions options;
      options.objective = {metric};
      const FusedPair best = map_fused(questions, options).pairs.at(0);
      options.limits.seconds = 1e-5;
      const FusedPair hurried = map_fused(questions, options).pairs.at(0);
      ASSERT_TRUE(best.found && hurried.found);
      const double least = best.lower_bound;  // what has no room comes to more than its sides do by themselves
      if (best.proven) {
        EXPECT_EQ(best.compared(best.chosen()), least);
      }
      EXPECT_LE(hurried.lower_bound, least * (1 + 1e-12));
      EXPECT_GE(hurried.compared(hurried.chosen()), least * (1 - 1e-12));
      if (hurried.proven) {
        EXPECT_NEAR(hurried.compared(hurried.chosen()), least, least * 1e-12);
      } else {
        ++open;
      }
      ASSERT_EQ(hurried.choices.size(), best.choices.size());
      for (std::size_t c = 0; c < best.choices.size(); ++c) {
        if (!best.choices[c].found) continue;
        EXPECT_LE(hurried.choices[c].lower_bound, best.compared(best.choices[c]) * (1 + 1e-12));
      }
    }
  EXPECT_GT(open, 0);
}

// Some hundred searches, each of which alone would take the second and more.
TEST(FusePairs, ALimitIsOfAllSidesTogether) {
  MapRequest request;
  request.chips = {"edge-npu"};
  request.model = "bert-base";
  request.search.limits.seconds = 1;
  const base::Stopwatch clock;
  const FusedAnswer answer = map_with_chosen_fusion(request);
  EXPECT_LT(clock.seconds(), 20);
  ASSERT_FALSE(answer.fused.empty());
  for (const FusedPair& pair : answer.fused) {
    EXPECT_TRUE(pair.found);
    EXPECT_GT(pair.lower_bound, 0);
    EXPECT_LE(pair.lower_bound, pair.compared(pair.chosen()) * (1 + 1e-12));
  }
}

// A side without a mapping rules its choices out; Out of BERT-large at gemmini's accumulator is one
// (goldens/nest/gemmini/Out_largefused_Accumulator).
TEST(FusePairs, OfAModelEveryProductAndNormalisationIsPaired) {
  MapRequest request;
  request.chips = {"gemmini"};
  request.model = "bert-large";
  request.sequence = 4096;
  const FusedAnswer answer = map_with_chosen_fusion(request);
  ASSERT_EQ(answer.fused.size(), 3u);
  EXPECT_EQ(answer.fused[0].product, "KTQ");
  EXPECT_EQ(answer.fused[0].normalisation, "softmax");
  EXPECT_EQ(answer.fused[0].instances, 16);
  EXPECT_EQ(answer.fused[1].product, "Out");
  EXPECT_EQ(answer.fused[2].product, "FF2");
  for (const FusedPair& pair : answer.fused) {
    EXPECT_TRUE(pair.found);
    EXPECT_TRUE(pair.proven);
    for (const FusedPair::Choice& choice : pair.choices)
      if (choice.fuse.level == "Accumulator" && !choice.fuse.reduction_free && pair.product == "Out") {
        EXPECT_EQ(choice.without, "Out");
      }
  }
}

}  // namespace
}  // namespace orrery::verbs
