#include "orrery/engines/dataflow/search/degrees.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery::dataflow {
namespace {

Setup setup_of(Count chips, std::vector<NetworkDimension> network) {
  dataflow::Setup setup;
  setup.system.chips = chips;
  setup.system.network = std::move(network);
  LanguageModelRun model;
  model.sequence = 2048;
  model.layers = 8;
  model.global_batch = 1024;
  model.micro_batch = 1;
  setup.execution.workload = model;
  return setup;
}

constexpr auto kTP = Parallelism::kTensor;
constexpr auto kPP = Parallelism::kPipeline;
constexpr auto kDP = Parallelism::kData;
constexpr auto kSP = Parallelism::kSequence;

TEST(Degrees, NamedDimensionsOfGivenSizesAreOneAllocation) {
  const dataflow::Setup setup = setup_of(1024, {{Link::kRing, 8, 50, kTP}, {Link::kRing, 128, 50, kPP}});
  const auto all = allocations(setup, kGen1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].degrees.tensor, 8);
  EXPECT_EQ(all[0].degrees.pipeline, 128);
  EXPECT_EQ(all[0].degrees.data, 1);
  EXPECT_EQ(all[0].degrees.sizes, (std::vector<Count>{8, 128}));
  EXPECT_TRUE(states(setup, all[0]));
}

TEST(Degrees, OpenSizesTakeEveryFactorisationOfTheChips) {
  const dataflow::Setup setup =
      setup_of(12, {{Link::kRing, 0, 50, kTP}, {Link::kRing, 0, 50, kPP}, {Link::kRing, 2, 50, kDP}});
  const auto all = allocations(setup, kHead);
  ASSERT_EQ(all.size(), 4u);
  std::set<Count> tensor;
  for (const Allocation& allocation : all) {
    tensor.insert(allocation.degrees.tensor);
    EXPECT_EQ(allocation.degrees.tensor * allocation.degrees.pipeline * allocation.degrees.data, 12);
  }
  EXPECT_EQ(tensor, (std::set<Count>{1, 2, 3, 6}));
}

TEST(Degrees, AMissingSizeWithOneDimensionIsTheNumberOfChips) {
  const auto all = allocations(setup_of(8, {{Link::kSwitch, 0, 50, kTP}}), kGen2);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].degrees.tensor, 8);
}

TEST(Degrees, ADimensionThatNamesNoneIsTriedWithEachUnlessAGenerationIsAsked) {
  const dataflow::Setup two = setup_of(8, {{Link::kRing, 4, 50, {}}, {Link::kRing, 2, 50, {}}});
  EXPECT_EQ(allocations(two, kCorrected).size(), 6u);  // ordered pairs of three
  ASSERT_EQ(allocations(two, kGen2).size(), 1u);
  EXPECT_EQ(allocations(two, kGen2)[0].degrees.tensor, 1);
  const dataflow::Setup half = setup_of(8, {{Link::kRing, 4, 50, kPP}, {Link::kRing, 2, 50, {}}});
  EXPECT_EQ(allocations(half, kCorrected).size(), 2u);
  const dataflow::Setup four = setup_of(
      16, {{Link::kRing, 2, 50, {}}, {Link::kRing, 2, 50, {}}, {Link::kRing, 2, 50, {}}, {Link::kRing, 2, 50, {}}});
  EXPECT_EQ(allocations(four, kCorrected).size(), 24u);
  const dataflow::Setup narrow = setup_of(8, {{Link::kRing, 8, 50, {}}, {Link::kRing, 1, 50, {}}});
  EXPECT_EQ(allocations(narrow, kCorrected).size(), 3u);  // one chip serves nothing
}

TEST(Degrees, AllocationsWhoseBatchDoesNotDivideAreLeftOut) {
  dataflow::Setup setup = setup_of(6, {{Link::kRing, 0, 50, kTP}, {Link::kRing, 0, 50, kDP}});
  std::get<LanguageModelRun>(setup.execution.workload).global_batch = 4;
  std::set<Count> data;
  for (const Allocation& allocation : allocations(setup, kGen2)) data.insert(allocation.degrees.data);
  EXPECT_EQ(data, (std::set<Count>{1, 2}));
}

TEST(Degrees, DegreesThatDoNotMultiplyToTheChipsAreToldWithTheProduct) {
  const dataflow::Setup setup = setup_of(1000, {{Link::kRing, 8, 50, kTP}, {Link::kRing, 128, 50, kPP}});
  EXPECT_TRUE(allocations(setup, kGen1).empty());
  const auto reasons = degree_contradictions(setup, kGen1);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].diagnostic.code, "O1441");
  EXPECT_EQ(reasons[0].diagnostic.notes[0], "8 x 128 = 1024 is not 1000");
  ASSERT_EQ(reasons[0].blamed.size(), 3u);
  EXPECT_EQ(reasons[0].blamed[2].field, "y");
  const dataflow::Setup open = setup_of(1000, {{Link::kRing, 16, 50, kTP}, {Link::kRing, 0, 50, kPP}});
  EXPECT_EQ(degree_contradictions(open, kGen1)[0].diagnostic.notes[0], "16 does not divide 1000");
}

TEST(Degrees, OnlyProductsThatFitAreFormed) {
  const Count huge = Count{1} << 62;
  const dataflow::Setup setup = setup_of(4, {{Link::kRing, huge, 50, kTP}, {Link::kRing, huge, 50, kPP}});
  EXPECT_EQ(degree_contradictions(setup, kGen1)[0].diagnostic.code, "O1441");
}

TEST(Degrees, O1454WhenTheyCanBeSpreadInMoreWaysThanCanBeTried) {
  const NetworkDimension open{Link::kRing, 0, 50, {}};
  // 2^6 3^4 5^2 7 11 13 17 19 23: C(8,2) C(6,2) C(4,2) 3^6 sizes, 3! services.
  const auto many = degree_contradictions(setup_of(963761198400, {open, open, open}), kCorrected);
  ASSERT_EQ(many.size(), 1u);
  EXPECT_EQ(many[0].diagnostic.code, "O1454");
  EXPECT_EQ(many[0].diagnostic.notes.front(),
            "1837080 ways to choose the sizes, times 6 to choose what dimensions serve, is 11022480; up to 100000 are "
            "tried");
  const Count prime = 4611686018427387847;  // 2^62 - 57: nobody waits for its factors
  const auto large = degree_contradictions(setup_of(prime, {open, open}), kCorrected);
  ASSERT_EQ(large.size(), 1u);
  EXPECT_EQ(large[0].diagnostic.code, "O1454");
  EXPECT_TRUE(degree_contradictions(setup_of(1024, {open, open, open, open}), kCorrected).empty());
}

TEST(Degrees, CombinationsThatNoGenerationRunsAreRefused) {
  const dataflow::Setup twice = setup_of(4, {{Link::kRing, 2, 50, kTP}, {Link::kRing, 2, 50, kTP}});
  EXPECT_EQ(degree_contradictions(twice, kCorrected)[0].diagnostic.code, "O1442");
  const dataflow::Setup sequence = setup_of(4, {{Link::kRing, 2, 50, kTP}, {Link::kRing, 2, 50, kSP}});
  const auto reasons = degree_contradictions(sequence, kHead);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].diagnostic.message, "TP, SP cannot share a network of 2 dimensions");
}

TEST(Degrees, ABatchThatNoAllocationDividesIsToldWithTheQuotients) {
  dataflow::Setup setup = setup_of(16, {{Link::kRing, 16, 50, kDP}});
  std::get<LanguageModelRun>(setup.execution.workload).global_batch = 100;
  const auto reasons = degree_contradictions(setup, kGen1);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].diagnostic.code, "O1443");
  EXPECT_EQ(reasons[0].diagnostic.notes[0], "100 / (micro-batch 1 x DP 16) = 6.25");
  dataflow::Setup dlrm = setup_of(16, {{Link::kRing, 16, 50, {}}});
  dlrm.execution.workload = Recommendation{.global_batch = 100};
  EXPECT_EQ(degree_contradictions(dlrm, kGen1)[0].diagnostic.message,
            "a global batch of 100 does not divide over 16 chips");
}

TEST(Degrees, TilesOfAnEarlyGenerationDivideTheSequence) {
  dataflow::Setup setup = setup_of(1, {{Link::kRing, 1, 50, kTP}});
  EXPECT_EQ(tilings(setup, {}, kGen2).size(), 12u);  // divisors of 2048
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.tile_size = 3;
  EXPECT_TRUE(tilings(setup, {}, kGen2).empty());
  model.tile_size = 512;
  EXPECT_EQ(tilings(setup, {}, kGen2)[0].tiles, 4);
  EXPECT_EQ(tilings(setup, {}, kGen1)[0].tiles, 512);  // there it is their number
}

TEST(Degrees, EveryChipOfARecommendationModelIsAReplica) {
  dataflow::Setup dlrm = setup_of(16, {{Link::kRing, 4, 50, {}}, {Link::kRing, 4, 50, {}}});
  dlrm.execution.workload = Recommendation{.global_batch = 160};
  for (const Defects& defects : {kCorrected, kGen2}) {
    const std::vector<Allocation> all = allocations(dlrm, defects);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].degrees.data, 16);
    EXPECT_EQ(all[0].degrees.tensor, 1);
  }
}

TEST(Degrees, FilesOfTheFirstGenerationCountTilesWhateverTheFormulas) {
  dataflow::Setup setup = setup_of(1, {{Link::kRing, 1, 50, kTP}});
  auto& model = std::get<LanguageModelRun>(setup.execution.workload);
  model.tile_size = 512;
  model.tile_size_counts_tiles = true;
  for (const Defects& defects : {kCorrected, kGen1, kGen2}) {
    ASSERT_EQ(tilings(setup, {}, defects).size(), 1u);
    EXPECT_EQ(tilings(setup, {}, defects)[0].tiles, 512);
    EXPECT_EQ(tilings(setup, {}, defects)[0].tile_size, 4);
  }
}

TEST(Degrees, RaggedTilesAreEveryDistinctQuotientRoundedUp) {
  dataflow::Setup setup = setup_of(1, {{Link::kRing, 1, 50, kTP}});
  for (const Count sequence : {1, 2, 7, 12, 100, 2048, 2049}) {
    std::get<LanguageModelRun>(setup.execution.workload).sequence = sequence;
    std::set<Count> sizes;
    for (Count tiles = 1; tiles <= sequence; ++tiles) sizes.insert(base::ceil_divide(sequence, tiles));
    const auto found = tilings(setup, {}, kCorrected);
    ASSERT_EQ(found.size(), sizes.size()) << sequence;
    for (const Tiling& tiling : found) {
      EXPECT_TRUE(sizes.count(tiling.tile_size));
      EXPECT_GE(tiling.tiles * tiling.tile_size, sequence);
      EXPECT_LT((tiling.tiles - 1) * tiling.tile_size, sequence);
    }
  }
  std::get<LanguageModelRun>(setup.execution.workload).sequence = 65536;
  EXPECT_GT(tilings(setup, {}, kGen4).size(), 17u);
  EXPECT_EQ(tilings(setup, {}, kGen3).size(), 17u);
}

}  // namespace
}  // namespace orrery::dataflow
