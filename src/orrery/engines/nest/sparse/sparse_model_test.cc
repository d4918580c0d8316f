#include "orrery/engines/nest/sparse/sparse_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/relaxed/sparse_search.h"
#include "orrery/engines/nest/sparse/sparse_savings.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

SparseDesign plain_design(const workload::Einsum& einsum, const machine::Chip& chip) {
  SparseDesign design;
  design.densities.resize(einsum.dataspaces.size());
  design.storages.resize(chip.storages.size());
  for (SparseStorage& storage : design.storages) {
    storage.formats.resize(einsum.dataspaces.size());
    storage.metadata_width_bits = storage.metadata_word_bits = 4;
    storage.metadata_capacity_bits = Count{1} << 40;
    storage.decompresses = storage.compresses = true;
  }
  design.gated_compute_pj = design.skipped_compute_pj = 0;
  return design;
}

TensorFormat format_of(std::vector<RankFormat::Kind> innermost_first) {
  TensorFormat format;
  for (const RankFormat::Kind kind : innermost_first) format.ranks.push_back({kind, 4, 4, {}});
  return format;
}

LevelMapping level_of(std::vector<Count> temporal, std::vector<int> order, std::uint32_t keep) {
  LevelMapping level;
  level.spatial.assign(temporal.size(), 1);
  level.spatial_order.resize(temporal.size());
  for (std::size_t d = 0; d < temporal.size(); ++d) level.spatial_order[d] = static_cast<int>(d);
  level.temporal = std::move(temporal);
  level.temporal_order = std::move(order);
  level.keep = keep;
  return level;
}

SparseEvaluation evaluated(const Model& model, const SparseDesign& design, const Mapping& mapping) {
  std::optional<SparseMisfit> misfit;
  auto result = evaluate_sparse(model, design, mapping, misfit);
  EXPECT_TRUE(result) << (misfit ? misfit->text : "");
  return result.value_or(SparseEvaluation{});
}

// ---- Hand-worked: 16 products of A and B, summed up; a quarter of A is not zero and stored as coordinates. ----

struct DotProduct : ::testing::Test {
  enum { kA, kB, kZ };
  workload::Einsum einsum{
      "dot", {{"K", 16}, {"M", 1}}, {{"A", {{{{0, 1}}}}}, {"B", {{{{0, 1}}}}}, {"Z", {{{{1, 1}}}}, true}}};
  machine::Chip chip;
  SparseDesign design;
  Mapping mapping;

  DotProduct() {
    machine::Storage& buffer = chip.storages.emplace_back();
    buffer.name = "Buffer", buffer.word_bits = 8, buffer.capacity_words = 64;
    buffer.energy = {0.5, 0.25, 0.25, 0.001};
    buffer.read_words_per_cycle = 4, buffer.write_words_per_cycle = 3;
    chip.compute.compute_pj = 0.3;
    design = plain_design(einsum, chip);
    design.densities[kA] = Density::structured(0.25);
    mapping.levels = {level_of({16, 1}, {0, 1}, 7)};
  }
};

TEST_F(DotProduct, CoordinatesAndSkippingLeaveOneAccessInFour) {
  SparseStorage& buffer = design.storages[0];
  buffer.formats[kA] = format_of({RankFormat::Kind::kCoordinates});
  buffer.savings = {{true, {{kB, {kA}}}, {}}, {true, {{kZ, {kA}}}, {}}};
  buffer.prices.metadata_read = 0.125;
  const SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
  const auto& uses = cost.uses[0];
  EXPECT_EQ(uses[kA].reads.actual, 4);  // 16 x 0.25
  EXPECT_EQ(uses[kA].metadata_reads.actual[0].metadata, 4);
  EXPECT_EQ(uses[kA].metadata_reads.actual[0].payload, 0);  // the values themselves
  EXPECT_EQ(uses[kA].most_words, 4);
  EXPECT_EQ(uses[kA].most_metadata_bits, 16);
  EXPECT_EQ(uses[kB].reads.actual, 4);
  EXPECT_EQ(uses[kB].reads.skipped, 12);
  EXPECT_EQ(uses[kZ].updates.actual, 4);
  EXPECT_EQ(uses[kZ].updates.skipped, 12);
  EXPECT_EQ(uses[kZ].reads.actual, 3);  // the first update has nothing to add to
  EXPECT_EQ(cost.compute.operations.actual, 4);
  EXPECT_EQ(cost.evaluation.cycles, 4);
  // reads (4 + 4 + 3) x 0.5, updates 4 x 0.25, metadata 4 x 0.125, operations 4 x 0.3, leakage 4 x 0.001
  EXPECT_DOUBLE_EQ(cost.evaluation.energy_pj, 5.5 + 1 + 0.5 + 1.2 + 0.004);
  EXPECT_DOUBLE_EQ(cost.evaluation.utilization, 1);
}

TEST_F(DotProduct, BlocksOfATileAreThoseThatItsNonzerosFill) {
  chip.storages[0].block_size = 4;
  design.storages[0].formats[kA] = format_of({RankFormat::Kind::kCoordinates});
  design.storages[0].savings = {{true, {{kB, {kA}}}, {}}};
  for (int nonzeros = 1; nonzeros <= 16; ++nonzeros) {
    design.densities[kA] = Density::structured(nonzeros / 16.0);
    const SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
    EXPECT_DOUBLE_EQ(cost.uses[0][kA].data_pj, std::ceil(nonzeros / 4.0) * 0.5) << nonzeros;
  }
}

TEST_F(DotProduct, GatingSavesEnergyAndNotThePortsTime) {
  design.storages[0].savings = {{false, {{kB, {kA}}}, {}}};
  design.storages[0].prices.gated_read = 0.0625;
  chip.storages[0].read_words_per_cycle = 1;
  const SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
  EXPECT_EQ(cost.uses[0][kB].reads.actual, 4);
  EXPECT_EQ(cost.uses[0][kB].reads.gated, 12);
  EXPECT_EQ(cost.evaluation.storages[0].cycles, 16 + 16 + 15);
  EXPECT_DOUBLE_EQ(cost.uses[0][kB].data_pj, 4 * 0.5 + 12 * 0.0625);
}

TEST_F(DotProduct, ComputeUnitsGateOnZerosAndSkipWhatIsMissing) {
  design.gates_compute = true;
  design.gated_compute_pj = 0.0625;
  SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
  EXPECT_EQ(cost.compute.operations.actual, 4);
  EXPECT_EQ(cost.compute.operations.gated, 12);  // A is there, and zero
  EXPECT_EQ(cost.evaluation.compute.cycles, 16);
  design.storages[0].formats[kA] = format_of({RankFormat::Kind::kRunLengths});
  design.aligns_compute = true;
  cost = evaluated(Model(einsum, chip), design, mapping);
  EXPECT_EQ(cost.compute.operations.skipped, 12);  // A is not there
  EXPECT_EQ(cost.evaluation.compute.cycles, 4);
}

TEST_F(DotProduct, MetadataOfEveryFormatIsCounted) {
  using Kind = RankFormat::Kind;
  const auto bits = [&](Kind kind) {
    design.storages[0].formats[kA] = format_of({kind});
    if (kind == Kind::kBitmask) design.storages[0].formats[kA]->ranks[0].metadata_bits = 1;
    return evaluated(Model(einsum, chip), design, mapping).uses[0][kA].metadata_read_bits;
  };
  EXPECT_EQ(bits(Kind::kCoordinates), 4 * 4);
  EXPECT_EQ(bits(Kind::kRunLengths), 4 * 4);
  EXPECT_EQ(bits(Kind::kBitmask), 16);
  EXPECT_EQ(bits(Kind::kUncompressedBitmask), 16 * 4);
  EXPECT_EQ(bits(Kind::kOffsetPairs), 0);  // its payload is the values
}

TEST_F(DotProduct, ATileNeedsRoomForItsNonzerosAndItsMetadata) {
  chip.storages[0].capacity_words = 21;  // 4 of A, 16 of B, 1 of Z
  design.storages[0].formats[kA] = format_of({RankFormat::Kind::kCoordinates});
  std::optional<SparseMisfit> misfit;
  EXPECT_TRUE(evaluate_sparse(Model(einsum, chip), design, mapping, misfit));
  chip.storages[0].capacity_words = 20;
  EXPECT_FALSE(evaluate_sparse(Model(einsum, chip), design, mapping, misfit));
  EXPECT_EQ(misfit->kind, SparseMisfit::Kind::kCapacity);
  chip.storages[0].capacity_words = 21;
  design.storages[0].metadata_capacity_bits = 15;
  EXPECT_FALSE(evaluate_sparse(Model(einsum, chip), design, mapping, misfit));
}

// ---- Hand-worked: 8 x 8 x 8, A a quarter, B a half, both as offsets and coordinates, each skipped by the other. ----

struct Product : ::testing::Test {
  enum { kM, kN, kK };
  enum { kA, kB, kZ };
  workload::Einsum einsum{
      "product",
      {{"M", 8}, {"N", 8}, {"K", 8}},
      {{"A", {{{{kM, 1}}}, {{{kK, 1}}}}}, {"B", {{{{kN, 1}}}, {{{kK, 1}}}}}, {"Z", {{{{kM, 1}}}, {{{kN, 1}}}}, true}}};
  machine::Chip chip;
  SparseDesign design;
  Mapping mapping;

  Product() {
    chip.storages.resize(2);
    chip.storages[0].name = "Buffer", chip.storages[1].name = "Backing";
    chip.storages[0].capacity_words = 128;
    for (machine::Storage& storage : chip.storages) storage.word_bits = 8, storage.energy = {1, 1, 1, 0};
    chip.storages[1].block_size = 4;
    design = plain_design(einsum, chip);
    design.densities[kA] = Density::structured(0.25);
    design.densities[kB] = Density::structured(0.5);
    using Kind = RankFormat::Kind;
    for (SparseStorage& storage : design.storages)
      storage.formats[kA] = storage.formats[kB] = format_of({Kind::kCoordinates, Kind::kOffsetPairs});
    design.storages[0].savings = {{true, {{kA, {kB}}}, {}}, {true, {{kB, {kA}}}, {}}, {true, {{kZ, {kA, kB}}}, {}}};
    // The buffer keeps B and Z; A comes from the backing storage word by word. Innermost M, then N, then K.
    mapping.levels = {level_of({8, 8, 8}, {kM, kN, kK}, 6), level_of({1, 1, 1}, {kM, kN, kK}, 7)};
  }
};

TEST_F(Product, OperandsThatFollowEachOtherMeetWhereBothAreNonzero) {
  const SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
  const SparseUse& b = cost.uses[0][kB];
  EXPECT_EQ(b.reads.actual, 64);    // 512 x 0.5 x 0.25
  EXPECT_EQ(b.reads.skipped, 192);  // 512 x 0.5 x 0.75
  EXPECT_EQ(b.fills.actual, 32);
  // Offsets: 8 + 1 for 8 columns, read 8 times; coordinates: 4 of each column.
  EXPECT_EQ(b.metadata_reads.actual[1].payload, 18);
  EXPECT_EQ(b.metadata_reads.skipped[1].payload, 54);
  EXPECT_EQ(b.metadata_reads.actual[0].metadata, 64);
  EXPECT_EQ(b.metadata_reads.skipped[0].metadata, 192);
  EXPECT_EQ(b.metadata_fills.actual[0].metadata, 32);
  EXPECT_EQ(b.most_words, 32);
  const SparseUse& z = cost.uses[0][kZ];
  EXPECT_EQ(z.updates.actual, 64);
  EXPECT_EQ(z.reads.actual, 56);
  const SparseUse& a = cost.uses[1][kA];
  EXPECT_EQ(a.reads.actual, 64);  // the innermost loop does not move B: a block of four of A meets one word of B
  EXPECT_EQ(a.reads.skipped, 64);
  EXPECT_EQ(cost.compute.operations.actual, 64);
  EXPECT_EQ(cost.evaluation.cycles, 64);
}

TEST_F(Product, TilesInsideFixTheInnerRanks) {
  mapping.levels = {level_of({8, 2, 8}, {kM, kN, kK}, 6), level_of({1, 4, 1}, {kM, kN, kK}, 7)};
  std::optional<SparseMisfit> misfit;
  EXPECT_FALSE(evaluate_sparse(Model(einsum, chip), design, mapping, misfit));
  EXPECT_EQ(misfit->kind, SparseMisfit::Kind::kRanks);
  using Kind = RankFormat::Kind;
  design.storages[1].formats[kB] = format_of({Kind::kCoordinates, Kind::kOffsetPairs, Kind::kOffsetPairs});
  const SparseEvaluation cost = evaluated(Model(einsum, chip), design, mapping);
  const SparseUse& b = cost.uses[1][kB];
  EXPECT_EQ(b.metadata_reads.actual[2].payload, 5);   // four tiles and an end
  EXPECT_EQ(b.metadata_reads.actual[1].payload, 36);  // of each, eight fibers and an end
  EXPECT_EQ(b.metadata_reads.actual[0].metadata, 32);
}

// ---- Laws ----

TEST(SparseModel, WithoutZerosSavingsChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = dice.once_in(4) ? testing::random_convolution(dice) : testing::random_einsum(dice);
    const machine::Chip chip = testing::random_chip(dice);
    const Mapping mapping = testing::random_legal_mapping(dice, einsum, chip);
    SparseDesign design = plain_design(einsum, chip);
    const int spaces = static_cast<int>(einsum.dataspaces.size());
    for (SparseStorage& storage : design.storages)
      storage.savings.push_back(
          {dice.once_in(2), {{static_cast<int>(dice(0, spaces - 1)), {static_cast<int>(dice(0, spaces - 1))}}}, {}});
    design.gates_compute = design.aligns_compute = true;
    const Model model(einsum, chip);
    const Evaluation dense = model.evaluate(mapping);
    const Evaluation sparse = evaluated(model, design, mapping).evaluation;
    ASSERT_EQ(sparse.cycles, dense.cycles) << seed;
    ASSERT_NEAR(sparse.energy_pj, dense.energy_pj, 1e-12 * dense.energy_pj) << seed;
    for (std::size_t i = 0; i < dense.storages.size(); ++i)
      for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
        ASSERT_EQ(sparse.storages[i].dataspaces[s].reads, dense.storages[i].dataspaces[s].reads) << seed;
        ASSERT_EQ(sparse.storages[i].dataspaces[s].fills, dense.storages[i].dataspaces[s].fills) << seed;
        ASSERT_EQ(sparse.storages[i].dataspaces[s].updates, dense.storages[i].dataspaces[s].updates) << seed;
      }
  }
}

// Gating and skipping, formats of one rank that takes all loops.
SparseDesign random_design(Dice& dice, const workload::Einsum& einsum, const machine::Chip& chip) {
  SparseDesign design = plain_design(einsum, chip);
  const int spaces = static_cast<int>(einsum.dataspaces.size());
  std::vector<int> all(einsum.dimensions.size());
  for (std::size_t d = 0; d < all.size(); ++d) all[d] = static_cast<int>(d);
  std::vector<Count> bounds;
  for (const workload::Dimension& dimension : einsum.dimensions) bounds.push_back(dimension.bound);
  for (int s = 0; s < spaces; ++s) {
    const double share = dice.hundredths(5, 100);
    design.densities[static_cast<std::size_t>(s)] =
        dice.once_in(2) ? Density::structured(share) : Density::hypergeometric(share, einsum.volume(s, bounds));
    if (einsum.dataspaces[static_cast<std::size_t>(s)].read_write || dice.once_in(2)) continue;
    // From the outermost storage inwards, up to some level.
    const int last = static_cast<int>(dice(0, static_cast<Count>(chip.storages.size()) - 1));
    for (int i = static_cast<int>(chip.storages.size()) - 1; i >= last; --i) {
      TensorFormat format = format_of(
          std::vector<RankFormat::Kind>(static_cast<std::size_t>(2 * (i + 1)), RankFormat::Kind::kCoordinates));
      for (RankFormat& rank : format.ranks) rank.flattened = {all};
      design.storages[static_cast<std::size_t>(i)].formats[static_cast<std::size_t>(s)] = format;
    }
  }
  for (SparseStorage& storage : design.storages)
    if (dice.once_in(2)) {
      const int target = static_cast<int>(dice(0, spaces - 1));
      std::vector<int> leaders;
      for (int s = 0; s + 1 < spaces; ++s)
        if (s != target) leaders.push_back(s);
      if (!leaders.empty()) storage.savings.push_back({dice.once_in(2), {{target, leaders}}, {}});
    }
  design.gates_compute = dice.once_in(3);
  design.aligns_compute = dice.once_in(3);
  return design;
}

TEST(SparseModel, SavingsNeverAddAccessesOrOperations) {
  int fit = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_einsum(dice);
    const machine::Chip chip = testing::random_chip(dice);
    const Mapping mapping = testing::random_legal_mapping(dice, einsum, chip);
    const SparseDesign design = random_design(dice, einsum, chip);
    const Model model(einsum, chip);
    const Evaluation dense = model.evaluate(mapping);
    std::optional<SparseMisfit> misfit;
    const auto sparse = evaluate_sparse(model, design, mapping, misfit);
    if (!sparse) continue;
    ++fit;
    ASSERT_LE(sparse->compute.operations.actual + sparse->compute.operations.gated, dense.compute.operations) << seed;
    for (std::size_t i = 0; i < dense.storages.size(); ++i)
      for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
        const SparseUse& use = sparse->uses[i][s];
        const DataspaceCost& before = dense.storages[i].dataspaces[s];
        ASSERT_LE(use.reads.actual + use.reads.gated + use.reads.skipped, before.reads) << seed;
        ASSERT_LE(use.updates.actual + use.updates.gated + use.updates.skipped, before.updates) << seed;
        ASSERT_LE(use.fills.actual, before.fills) << seed;
        ASSERT_GE(use.reads.actual, 0) << seed;
        ASSERT_GT(use.share, 0) << seed;
      }
  }
  EXPECT_GT(fit, 1000);
}

TEST(SparseModel, TheScaledDenseCostBoundsEveryMapping) {
  int fit = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_einsum(dice);
    const machine::Chip chip = testing::random_chip(dice);
    const Mapping mapping = testing::random_legal_mapping(dice, einsum, chip);
    const SparseDesign design = random_design(dice, einsum, chip);
    const Model model(einsum, chip);
    std::optional<SparseMisfit> misfit;
    const auto sparse = evaluate_sparse(model, design, mapping, misfit);
    if (!sparse) continue;
    ++fit;
    // Of any mapping, and of those that keep what this one keeps: the tighter bound.
    Mapspace same_keeps;
    for (int level = 0; level < static_cast<int>(chip.storages.size()); ++level)
      for (int s = 0; s < static_cast<int>(einsum.dataspaces.size()); ++s) {
        Constraint keep;
        keep.kind = Constraint::Kind::kKeep;
        keep.level = level;
        keep.dataspace = s;
        keep.keep = mapping.levels[static_cast<std::size_t>(level)].keep >> s & 1;
        same_keeps.constraints.push_back(keep);
      }
    const Space space(einsum, chip, same_keeps, model.shape());
    for (const Space* known : {static_cast<const Space*>(nullptr), &space}) {
      const SparseBound bound = sparse_bound(model, design, known);
      const Evaluation least = Model(einsum, bound.chip, bound.options).evaluate(mapping);
      ASSERT_GE(sparse->evaluation.energy_pj * (1 + 1e-9), least.energy_pj) << seed;
      ASSERT_GE(static_cast<double>(sparse->evaluation.cycles) * (1 + 1e-9),
                static_cast<double>(least.cycles) * bound.cycles)
          << seed;
    }
  }
  EXPECT_GT(fit, 2000);
}

TEST(SparseModel, DenserOperandsCostMore) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum =
        workload::matmul("m", dice.pick({2, 4, 6}), dice.pick({3, 4, 8}), dice.pick({2, 5, 8}));
    machine::Chip chip = testing::random_chip(dice);
    for (machine::Storage& storage : chip.storages) storage.block_size = 1;
    const Mapping mapping = testing::random_legal_mapping(dice, einsum, chip);
    SparseDesign design = plain_design(einsum, chip);
    design.storages[0].savings = {{true, {{0, {1}}}, {}}, {dice.once_in(2), {{2, {1}}}, {}}};
    std::vector<Count> bounds;
    for (const workload::Dimension& dimension : einsum.dimensions) bounds.push_back(dimension.bound);
    double energy_pj = 0;
    Count cycles = 0;
    for (const double share : {0.05, 0.2, 0.4, 0.7, 0.95, 1.0}) {
      design.densities[1] = Density::hypergeometric(share, einsum.volume(1, bounds));
      const Evaluation cost = evaluated(Model(einsum, chip), design, mapping).evaluation;
      ASSERT_GE(cost.energy_pj * (1 + 1e-12), energy_pj) << seed << " " << share;
      ASSERT_GE(cost.cycles, cycles) << seed << " " << share;
      energy_pj = cost.energy_pj, cycles = cost.cycles;
    }
  }
}

// ---- Against random tensors: every iteration is walked, and a tile that stays counts as needless where all words of
// the leader that it meets are zero. ----

std::vector<Count> word_of(const workload::Einsum& einsum, int s, const std::vector<Count>& at,
                           const std::vector<Count>& tile) {
  std::vector<Count> place;
  for (const workload::Rank& rank : einsum.dataspaces[static_cast<std::size_t>(s)].ranks)
    for (const workload::Term& term : rank.terms)
      place.push_back(at[static_cast<std::size_t>(term.dimension)] / tile[static_cast<std::size_t>(term.dimension)]);
  return place;
}

TEST(SparseModel, NeedlessTilesOfRandomTensorsAreAsManyAsPredicted) {
  std::mt19937_64 engine(11);
  int checked = 0;
  for (std::uint64_t seed = 1; checked < 60; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_einsum(dice, 6);
    if (einsum.dataspaces.size() < 3) continue;
    Mapping mapping = testing::random_mapping(dice, einsum, 2, true, 1);  // no loops in space
    machine::Chip chip;
    chip.storages.resize(2);
    const int target = 0, leader = 1, level = static_cast<int>(dice(0, 1));
    std::vector<Count> bounds;
    for (const workload::Dimension& dimension : einsum.dimensions) bounds.push_back(dimension.bound);
    const Count words = einsum.volume(leader, bounds);
    if (words < 2) continue;
    SparseDesign design = plain_design(einsum, chip);
    design.densities[1] = Density::hypergeometric(0.3, words);
    const Model model(einsum, chip);
    const SparseNest nest(einsum, model.shape(), mapping);
    const double predicted = saved_by(nest, design, {target, {leader}}, level, 1);

    // Iterations in order; what the tile below `level` holds of the target.
    const Extents& inner = level == 0 ? nest.scalar() : nest.tile(0);
    std::vector<SparseLoop> loops;
    for (int i = 0; i < 2; ++i) loops.insert(loops.end(), nest.loops(i).begin(), nest.loops(i).end());
    Count iterations = 1;
    for (const SparseLoop& loop : loops) iterations *= loop.iterations;
    std::vector<std::vector<Count>> target_tiles, leader_words;
    for (Count t = 0; t < iterations; ++t) {
      std::vector<Count> at(bounds.size(), 0), stride(bounds.size(), 1);
      Count rest = t;
      for (const SparseLoop& loop : loops) {
        const std::size_t d = static_cast<std::size_t>(loop.dimension);
        at[d] += rest % loop.iterations * stride[d];
        stride[d] *= loop.iterations;
        rest /= loop.iterations;
      }
      target_tiles.push_back(word_of(einsum, target, at, inner));
      leader_words.push_back(word_of(einsum, leader, at, nest.scalar()));
    }
    std::map<std::vector<Count>, int> tensor;
    for (const auto& word : leader_words) tensor[word] = 0;
    ASSERT_EQ(static_cast<Count>(tensor.size()), words);
    std::vector<int> values(static_cast<std::size_t>(words), 0);
    std::fill_n(values.begin(), static_cast<std::size_t>(std::ceil(0.3 * static_cast<double>(words) - 1e-9)), 1);
    constexpr int kTensors = 400;
    double sum = 0, squares = 0;
    for (int k = 0; k < kTensors; ++k) {
      std::shuffle(values.begin(), values.end(), engine);
      std::size_t next = 0;
      for (auto& [word, value] : tensor) value = values[next++];
      double tiles = 0, needless = 0;
      bool met = false;
      for (std::size_t t = 0; t < target_tiles.size(); ++t) {
        met = met || tensor[leader_words[t]] != 0;
        // Operands that go to the compute units are read anew for each operation.
        const bool leaves = t + 1 == target_tiles.size() || level == 0 || target_tiles[t + 1] != target_tiles[t];
        if (!leaves) continue;
        ++tiles;
        needless += !met;
        met = false;
      }
      sum += needless / tiles, squares += needless / tiles * needless / tiles;
    }
    const double mean = sum / kTensors, variance = std::max(0.0, squares / kTensors - mean * mean);
    EXPECT_NEAR(mean, predicted, 5 * std::sqrt(variance / kTensors) + 1e-9) << seed << " level " << level;
    ++checked;
  }
}

// ---- Search ----

TEST(SparseSearch, NoOtherMappingIsBetterThanTheEnumeratedOne) {
  int enumerated = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const workload::Einsum einsum = testing::random_einsum(dice, 4);
    const machine::Chip chip =
        testing::random_chip(dice, {.fewest_storages = 2, .most_storages = 2, .largest_fanout_side = 2});
    const SparseDesign design = random_design(dice, einsum, chip);
    const Model model(einsum, chip);
    const SparseOptimum best = optimize_sparse(model, design, {}, {Metric::kEdp}, {});
    if (!best.optimum.mapping) continue;
    if (!best.enumerated) continue;
    ++enumerated;
    ASSERT_TRUE(best.optimum.certificate.optimal) << seed;
    const double found = best.sparse->evaluation.edp_j_cycles;
    for (int k = 0; k < 300; ++k) {
      const Mapping other = testing::random_legal_mapping(dice, einsum, chip);
      std::optional<SparseMisfit> misfit;
      const auto cost = evaluate_sparse(model, design, other, misfit);
      if (!cost) continue;
      ASSERT_GE(cost->evaluation.edp_j_cycles, found * (1 - 1e-9)) << seed;
    }
  }
  EXPECT_GE(enumerated, 10);
}

TEST(SparseSearch, ALimitLeavesABoundThatHolds) {
  Dice dice = Dice::from_seed(5);
  const workload::Einsum einsum = workload::matmul("m", 8, 8, 8);
  const machine::Chip chip = testing::random_chip(dice);
  SparseDesign design = plain_design(einsum, chip);
  design.densities[1] = Density::structured(0.25);
  design.storages[0].savings = {{true, {{0, {1}}}, {}}};
  const Model model(einsum, chip);
  SearchLimits limits;
  limits.seconds = 0.05;
  const SparseOptimum early = optimize_sparse(model, design, {}, {Metric::kEnergy}, limits);
  ASSERT_TRUE(early.optimum.mapping);
  for (int k = 0; k < 500; ++k) {
    const Mapping other = testing::random_legal_mapping(dice, einsum, chip);
    std::optional<SparseMisfit> misfit;
    const auto cost = evaluate_sparse(model, design, other, misfit);
    if (!cost) continue;
    EXPECT_GE(cost->evaluation.energy_pj, early.optimum.certificate.lower_bound * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace orrery::nest
