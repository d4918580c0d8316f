// Every number that docs/model/nest.md works out and that no other test of this folder repeats.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "orrery/engines/nest/model/bandwidth_stall.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/search/lattice/lattice_table.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/search/seed_chips_test_util.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::kD, testing::kE, testing::kL;
using testing::kInputs, testing::kOutputs, testing::kWeights;

LevelMapping level(std::vector<Count> temporal, std::vector<int> order, std::vector<Count> spatial,
                   std::uint32_t keep) {
  return {std::move(temporal), std::move(order), std::move(spatial), {kE, kD, kL}, 3, keep};
}

// The scores of one head of BERT-large: Registers, Accumulator, Scratchpad, DRAM (fan-outs inside the level above).
struct Book : ::testing::Test {
  enum { kRegisters, kAccumulator, kScratchpad, kDram };
  workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  Mapping mapping{{level({1, 1, 16}, {kE, kD, kL}, {1, 1, 1}, 1u << kWeights),
                   level({4, 1, 128}, {kL, kE, kD}, {16, 1, 1}, 1u << kOutputs),
                   level({1, 1, 2}, {kE, kD, kL}, {1, 16, 1}, 1u << kWeights | 1u << kInputs),
                   level({1, 256, 1}, {kE, kD, kL}, {1, 1, 1}, 0b111)}};
  Traffic traffic;

  Book() { closed_form(einsum, shape_of(einsum), mapping, {}, traffic); }
};

TEST_F(Book, TilesGrowOutwards) {
  EXPECT_EQ(traffic.compute_cycles, 4194304);
  EXPECT_EQ(traffic.compute_instances, 256);
  EXPECT_EQ(traffic.tile[kRegisters][kWeights], 1);
  EXPECT_EQ(traffic.tile[kAccumulator][kOutputs], 2048);
  EXPECT_EQ(traffic.tile[kScratchpad][kWeights], 1024);
  EXPECT_EQ(traffic.tile[kScratchpad][kInputs], 262144);
  EXPECT_EQ(traffic.tile[kDram][kOutputs], 16777216);
  EXPECT_EQ(traffic.instances[kRegisters], 256);
  EXPECT_EQ(traffic.instances[kAccumulator], 16);
}

TEST_F(Book, AWeightComesOncePerRunOfLoopsThatDoNotMoveIt) {
  // 256 * 2 * 4 * 128 iterations, in runs of 128, of one weight for each of 16 columns.
  EXPECT_EQ(traffic.accesses[kAccumulator][kWeights], 262144 / 128 * 16);
  EXPECT_EQ(traffic.accesses[kAccumulator][kWeights], 32768);
  EXPECT_EQ(traffic.deliveries[kAccumulator][kWeights], 32768);
  EXPECT_EQ(traffic.fanout[kAccumulator], 16);
}

TEST_F(Book, ARunGoesOnThroughALevelThatDoesNotMoveTheDataspace) {
  // L = 2 of the Scratchpad moves no weight: 512 iterations in runs of 2, of the 64 weights below.
  EXPECT_EQ(traffic.tile[kAccumulator][kWeights], 64);
  EXPECT_EQ(traffic.accesses[kScratchpad][kWeights], 512 / 2 * 64 * 16);
  EXPECT_EQ(traffic.accesses[kScratchpad][kWeights], 262144);
}

TEST_F(Book, SharedWordsAreReadOnceAndDeliveredToEach) {
  EXPECT_EQ(traffic.accesses[kRegisters][kInputs], 4194304);
  // Inputs do not move with D: one access feeds 16 rows.
  EXPECT_EQ(traffic.deliveries[kScratchpad][kInputs], 16 * traffic.accesses[kScratchpad][kInputs]);
}

TEST_F(Book, PartitionsDivideWhatIsSeen) {
  EXPECT_EQ(traffic.partition[kDram][kOutputs], 16777216);
  EXPECT_EQ(traffic.partition[kScratchpad][kOutputs], 16777216);
  EXPECT_EQ(traffic.partition[kAccumulator][kOutputs], 1048576);
}

TEST(BookBandwidthStall, AnOddQuotientShowsTheReferencesRounding) {
  PricedLevel level;
  level.read_limit = 16;
  const std::vector<Count> reads{524288, 67108864};
  const std::span<const __int128> none;
  const auto cycles = [&](Count compute_cycles, const std::vector<Count>& words, bool in_doubles) {
    return bandwidth_stall(level, compute_cycles, std::span<const Count>(words), none, in_doubles).cycles;
  };
  EXPECT_EQ(cycles(4194304, reads, false), 4227072);
  EXPECT_EQ(cycles(4194304, reads, true), 4227072);
  // 147 words through a port of 3 in a nest of one cycle; 1 / (3 / 147) is a little more than 49.
  level.read_limit = 3;
  const std::vector<Count> odd{147};
  EXPECT_EQ(cycles(1, odd, false), 49);
  EXPECT_EQ(cycles(1, odd, true), 50);
}

TEST(BookSpace, FactorisationsTimesOrdersTimesBypasses) {
  const testing::SeedCase seed = testing::gemmini();
  const workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  const Space space(einsum, seed.chip, seed.space, shape_of(einsum));
  EXPECT_EQ(space.size(), 6.0 * 9 * 45 * 72);
  EXPECT_EQ(space.size(), 174960);
}

TEST(BookSpace, OneOrderOfEachCostIsKept) {
  const testing::SeedCase seed = testing::gemmini();
  const workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  const Space space(einsum, seed.chip, seed.space, shape_of(einsum));
  EXPECT_EQ(space.orders(5, 0b111).size(), 3u);                // E, D, L: six orders
  EXPECT_EQ(space.orders(4, 1u << kE | 1u << kL).size(), 2u);  // both orders differ
  EXPECT_EQ(space.orders(2, 1u << kL).size(), 1u);             // one loop
}

TEST(BookSearch, TheBestMappingOfTheScoresOnGemmini) {
  const testing::SeedCase seed = testing::gemmini();
  const workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  const Optimum found = optimize(Model(einsum, seed.chip), seed.space);
  EXPECT_EQ(found.evaluation.cycles, 4210692);
  EXPECT_GE(found.evaluation.cycles, 4194304);  // operations / compute units
  EXPECT_NEAR(found.evaluation.edp_j_cycles, 8929.67, 0.005);
  EXPECT_TRUE(found.certificate.optimal);
  EXPECT_EQ(found.certificate.gap, 0);
  EXPECT_DOUBLE_EQ(found.certificate.lower_bound, found.evaluation.edp_j_cycles);
  const Optimum upstream = optimize(Model(einsum, seed.chip, ModelOptions::timeloop()), seed.space);
  EXPECT_NEAR(upstream.evaluation.edp_j_cycles, 8912.43, 0.005);
  EXPECT_EQ(upstream.evaluation.cycles, 4210692);
}

TEST(BookSearch, LoopsOfALevelThatKeepsNothingCostTheSameFurtherOut) {
  // The scores on PIM: L = 32 at a shared_glb that keeps nothing, or at DRAM.
  const testing::SeedCase seed = testing::pim();
  const workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  const std::vector<int> order{kL, kD, kE};
  const auto idle = [&] { return level({1, 1, 1}, order, {1, 1, 1}, 0); };
  Mapping inside{{level({1, 1, 1}, order, {1, 1, 1}, 1u << kWeights), idle(), idle(), idle(), idle(),
                  level({1, 32, 128}, order, {1, 1, 1}, 0b111)}};
  inside.levels[1].spatial = {64, 1, 1};
  inside.levels[2].spatial = {1, 128, 1};
  inside.levels[2].split = 0;
  inside.levels[4].temporal = {1, 1, 32};
  Mapping outside = inside;
  outside.levels[4].temporal = {1, 1, 1};
  outside.levels[5].temporal = {1, 32, 4096};
  const Model model(einsum, seed.chip);
  ASSERT_TRUE(is_legal(einsum, seed.chip, inside));
  ASSERT_TRUE(is_legal(einsum, seed.chip, outside));
  EXPECT_DOUBLE_EQ(model.evaluate(inside).energy_pj, model.evaluate(outside).energy_pj);
  EXPECT_NEAR(model.evaluate(outside).energy_pj / 1e6, 3312.81, 0.005);
  EXPECT_EQ(model.evaluate(outside).cycles, 131072);
}

TEST(BookSearch, AnEmptySpaceShowsTheSumThatFails) {
  // Out of BERT-large with its loops over E and D pinned inside the Scratchpad: all weights at once.
  testing::SeedCase seed = testing::gemmini();
  testing::SpaceBuilder more{seed.space};
  more.temporal(5, kE, 1);
  more.temporal(5, kD, 1);
  const workload::Einsum einsum = workload::matmul("Out", 1024, 1024, 4096);
  const Optimum found = optimize(Model(einsum, seed.chip), more.space);
  EXPECT_TRUE(found.infeasible);
  ASSERT_FALSE(found.arithmetic.empty());
  EXPECT_NE(found.arithmetic[0].find("524288"), std::string::npos) << found.arithmetic[0];
  EXPECT_NE(found.arithmetic[0].find("1048576"), std::string::npos) << found.arithmetic[0];
}

TEST(BookLattice, TilesInsteadOfMappings) {
  const testing::SeedCase seed = testing::gemmini();
  const Model model(workload::matmul("scores", 4096, 64, 4096), seed.chip);
  const Space space(model.einsum(), model.chip(), seed.space, model.shape());
  const auto problem = lattice::describe(model, space);
  ASSERT_TRUE(problem.has_value());
  const auto layouts = lattice::layouts(*problem);
  ASSERT_EQ(layouts.size(), 1u);
  const lattice::Prices prices(*problem, layouts[0]);
  lattice::Axes axes;
  lattice::LargestTiles largest(1e6);
  lattice::Boundaries boundaries(*problem, prices, axes, largest);
  EXPECT_EQ(lattice::Table(boundaries, {}, {}).points(), 3 * 9 * 13);
}

}  // namespace
}  // namespace orrery::nest
