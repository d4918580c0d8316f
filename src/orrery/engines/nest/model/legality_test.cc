#include "orrery/engines/nest/model/legality.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <string>

#include "orrery/engines/nest/model/random_nest_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;

// Outputs[D][L] += Weights[E][D] * Inputs[E][L], dimensions in the order D, E, L.
workload::Einsum layer(Count d, Count e, Count l) {
  return {"layer",
          {{"D", d}, {"E", e}, {"L", l}},
          {{"Weights", {{{{1, 1}}}, {{{0, 1}}}}, false},
           {"Inputs", {{{{1, 1}}}, {{{2, 1}}}}, false},
           {"Outputs", {{{{0, 1}}}, {{{2, 1}}}}, true}}};
}

// D = 768, E = 6, L = 4 on Registers (8 words) x 2 x 4 below a DRAM.
struct Legality : ::testing::Test {
  workload::Einsum einsum = layer(768, 6, 4);
  machine::Chip chip;
  Mapping mapping;
  MappingPlaces places;
  Mapspace space;
  base::Location place(int line) {
    return {std::make_shared<base::SourceFile>(base::SourceFile{"arch.yaml", ""}), line, 1, 1};
  }

  Legality() {
    chip.name = "toy";
    chip.storages.resize(2);
    chip.storages[0] = {.name = "Registers", .capacity_words = 8, .instances = 8, .mesh_x = 2, .mesh_y = 4};
    chip.storages[1] = {.name = "DRAM"};
    chip.storages[0].capacity_where = place(7);
    chip.compute = {.name = "MAC", .instances = 8, .mesh_x = 2, .mesh_y = 4};
    mapping = testing::everything_outermost(einsum, chip);
    mapping.levels[1].temporal = {384, 3, 1};
    mapping.levels[1].spatial = {2, 2, 1};
    mapping.levels[1].split = 1;  // D along X, E along Y
    mapping.levels[0].temporal = {1, 1, 4};
    mapping.levels[0].keep = 0b100;  // 4 words of Outputs
  }

  base::Diagnostics legality() const {
    base::Diagnostics found;
    check_legal(einsum, chip, mapping, places, found);
    EXPECT_EQ(is_legal(einsum, chip, mapping), !found.has_errors());
    return found;
  }
  base::Diagnostics obedience() const {
    base::Diagnostics found;
    check_allowed(einsum, chip, mapping, space, found);
    EXPECT_EQ(is_allowed(einsum, chip, mapping, space), !found.has_errors());
    return found;
  }
  static std::string only(const base::Diagnostics& found) {
    if (found.all().size() != 1) return std::to_string(found.all().size()) + " messages";
    return found.all().at(0).code + ": " + found.all().at(0).message;
  }
  Constraint& constrain(Constraint::Kind kind, int level, bool spatial, std::string text) {
    Constraint constraint;
    constraint.kind = kind;
    constraint.level = level;
    constraint.spatial = spatial;
    constraint.text = std::move(text);
    constraint.where = place(12);
    return space.constraints.emplace_back(std::move(constraint));
  }
};

TEST_F(Legality, AMappingThatFitsIsLegal) {
  EXPECT_EQ(legality().all().size(), 0u);
}

TEST_F(Legality, FactorsThatMissTheBoundAreShownAsAProduct) {
  mapping.levels[1].temporal[0] = 256;
  EXPECT_EQ(only(legality()), "O0710: D: 256 * 2 = 512, but the problem has D = 768");
}

TEST_F(Legality, AProductBeyond64BitsIsAMessageNotAnOverflow) {
  mapping.levels[1].temporal[0] = Count{1} << 40;
  mapping.levels[0].temporal[0] = Count{1} << 40;
  EXPECT_NE(only(legality()).find("exceeds 64 bits"), std::string::npos);
}

TEST_F(Legality, EveryMalformedPartOfALevelIsReported) {
  mapping.levels[0].temporal = {1, 0, 4};
  mapping.levels[0].temporal_order = {0, 0, 1};
  mapping.levels[0].spatial_order = {0, 1};
  mapping.levels[0].split = 4;
  mapping.levels[0].keep = 0b1000;
  mapping.levels[1].spatial = {1};
  const base::Diagnostics found = legality();
  EXPECT_EQ(found.all().size(), 6u);
  for (const base::Diagnostic& diagnostic : found.all()) EXPECT_EQ(diagnostic.code, "O0710");
}

TEST_F(Legality, AMappingOfAnotherChipIsRefused) {
  mapping.levels.pop_back();
  EXPECT_EQ(only(legality()), "O0710: the mapping describes 1 storages, but `toy` has 2");
}

TEST_F(Legality, ADataspaceKeptNowhereIsNamed) {
  mapping.levels[1].keep = 0b110;
  const base::Diagnostics found = legality();
  EXPECT_EQ(only(found), "O0711: no storage keeps `" + einsum.dataspaces[0].name + "`");
}

TEST_F(Legality, AnOverfullStorageShowsTheArithmeticThePlaceAndTheWayOut) {
  mapping.levels[1].temporal = {96, 3, 1};
  mapping.levels[0].temporal = {4, 1, 4};
  const base::Diagnostics found = legality();
  EXPECT_EQ(only(found), "O0712: `Registers` holds 8 words; this mapping needs 16 = 4 * 4");
  const base::Diagnostic& diagnostic = found.all().at(0);
  ASSERT_EQ(diagnostic.secondary.size(), 1u);
  EXPECT_EQ(diagnostic.secondary.at(0).where.line, 7);
  EXPECT_EQ(diagnostic.notes.at(0), "`Outputs`: 4 * 4 = 16 words (spans D 4, L 4)");
  EXPECT_EQ(diagnostic.hints.at(0),
            "the largest factor of `D` at `Registers` that fits is 2 (now 4); move the rest further out");
  EXPECT_EQ(diagnostic.hints.at(1),
            "the largest factor of `L` at `Registers` that fits is 2 (now 4); move the rest further out");
}

TEST_F(Legality, TilesOfAllKeptDataspacesCountTogether) {
  mapping.levels[0].temporal = {2, 1, 4};
  mapping.levels[1].temporal = {192, 3, 1};
  EXPECT_EQ(legality().all().size(), 0u);  // Outputs 2 * 4 = 8
  mapping.levels[0].keep = 0b101;          // and Weights 2
  EXPECT_EQ(only(legality()), "O0712: `Registers` holds 8 words; this mapping needs 10 = 2 + 2 * 4");
}

TEST_F(Legality, MultipleBufferingLeavesAShareOfTheCapacity) {
  chip.storages[0].multiple_buffering = 2;
  EXPECT_EQ(legality().all().size(), 0u);
  chip.storages[0].multiple_buffering = 3;
  const base::Diagnostics found = legality();
  EXPECT_EQ(only(found), "O0712: `Registers` holds 2 words; this mapping needs 4");
  EXPECT_EQ(found.all().at(0).secondary.at(0).text, "8 words / 3 buffers = 2 usable");
}

TEST_F(Legality, AStorageThatMustBeFilledIs) {
  chip.storages[0].min_utilization = 0.5;
  EXPECT_EQ(legality().all().size(), 0u);
  chip.storages[0].min_utilization = 0.75;
  EXPECT_EQ(only(legality()), "O0712: `Registers` must be filled with at least 6 of its 8 words; this mapping uses 4");
}

TEST_F(Legality, FanOutCountsOnEachSideOfTheSplit) {
  mapping.levels[1].split = 0;  // D 2 and E 2 along Y, which has room for 4
  EXPECT_EQ(legality().all().size(), 0u);
  mapping.levels[1].split = 2;  // along X, which has room for 2
  const base::Diagnostics found = legality();
  EXPECT_EQ(only(found), "O0713: `DRAM` feeds 2 `Registers` along X; this mapping needs 4");
  EXPECT_EQ(found.all().at(0).notes.at(0), "along X: D 2 * E 2 = 4");
  EXPECT_EQ(found.all().at(0).hints.at(0), "these loops fit along Y: move them to the other side of the split");
}

TEST_F(Legality, MessagesPointAtTheDirectiveAtFault) {
  places.whole = place(20);
  places.levels.resize(2);
  places.levels[0] = {place(21), place(22), place(23)};
  places.levels[1] = {place(24), place(25), {}};
  mapping.levels[0].keep = 0b111;
  ASSERT_EQ(legality().all().at(0).code, "O0712");
  EXPECT_EQ(legality().all()[0].primary.where.line, 21) << "the loops that make the tiles large";
  chip.compute.instances = 32;
  chip.compute.mesh_y = 16;
  mapping.levels[0].temporal = {1, 1, 1};
  mapping.levels[0].spatial = {1, 1, 4};
  mapping.levels[0].split = 0;
  ASSERT_EQ(legality().all().at(0).code, "O0712");
  EXPECT_EQ(legality().all()[0].primary.where.line, 22) << "or else the spatial ones";
  mapping.levels[0].spatial = {1, 1, 1};
  mapping.levels[1].temporal[2] *= 4;
  chip.storages[0].capacity_words = 2;
  ASSERT_EQ(legality().all().at(0).code, "O0712");
  EXPECT_EQ(legality().all()[0].primary.where.line, 23) << "without loops, what is kept";
  chip.storages[0].capacity_words = 8;
  mapping.levels[1].spatial = {3, 2, 1};
  mapping.levels[1].temporal[0] = 256;
  ASSERT_EQ(legality().all().at(0).code, "O0713");
  EXPECT_EQ(legality().all()[0].primary.where.line, 25);
  places.levels.clear();
  EXPECT_EQ(legality().all().at(0).primary.where.line, 20) << "a mapping as a whole, when no more is known";
}

TEST_F(Legality, TheOtherSideIsOfferedOnlyWhenItIsFree) {
  mapping.levels[1].temporal = {192, 3, 1};
  mapping.levels[1].spatial = {4, 2, 1};  // D 4 along X, which has room for 2; E 2 along Y
  const base::Diagnostics found = legality();
  EXPECT_EQ(only(found), "O0713: `DRAM` feeds 2 `Registers` along X; this mapping needs 4");
  EXPECT_EQ(found.all().at(0).hints.at(0), "use spatial factors along X that multiply to at most 2");
}

TEST_F(Legality, ATileBeyond64BitsIsAMessageNotAnOverflow) {
  einsum = layer(Count{1} << 40, 1, Count{1} << 40);
  mapping.levels[1] = testing::everything_outermost(einsum, chip).levels[1];
  mapping.levels[1].temporal = {1, 1, 1};
  mapping.levels[0].temporal = {Count{1} << 40, 1, Count{1} << 40};
  EXPECT_EQ(only(legality()), "O0712: `Registers` holds 8 words; this mapping needs more than 64 bits can count");
}

TEST_F(Legality, FactorConstraintsCompare) {
  Constraint& constraint = constrain(Constraint::Kind::kFactor, 1, true, "D<=2");
  constraint.comparison = Comparison::kAtMost;
  constraint.value = 2;
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.comparison = Comparison::kAtLeast;
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.value = 3;
  EXPECT_EQ(only(obedience()), "O0720: the spatial factor of `D` at `DRAM` is 2; the map space requires >= 3");
  constraint.comparison = Comparison::kEqual;
  const base::Diagnostics found = obedience();
  EXPECT_EQ(only(found), "O0720: the spatial factor of `D` at `DRAM` is 2; the map space requires = 3");
  EXPECT_EQ(found.all().at(0).primary.where.line, 12);
}

TEST_F(Legality, OrderConstraintsSeeOnlyLoopsThatIterate) {
  mapping.levels[1].temporal_order = {2, 1, 0};  // L 1, E 3, D 384: E inside D
  Constraint& constraint = constrain(Constraint::Kind::kOrder, 1, false, "permutation: LED");
  constraint.inner = {1};
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.inner = {1, 2, 0};
  EXPECT_EQ(obedience().all().size(), 0u) << "L does not iterate";
  constraint.inner = {0, 1};
  EXPECT_EQ(only(obedience()).substr(0, 5), "O0721");
  constraint.inner = {};
  constraint.outer = {0};
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.outer = {1, 0};
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.outer = {0, 1};
  EXPECT_EQ(only(obedience()),
            "O0721: the temporal loops at `DRAM` are, from the inside, E D; the map space requires another order");
}

TEST_F(Legality, SplitsCountThePlacesOfAWholeOrder) {
  // D along X, E along Y, L does not iterate.
  Constraint& split = constrain(Constraint::Kind::kSplit, 1, true, "split: 1");
  split.value = 1;
  EXPECT_EQ(obedience().all().size(), 0u);
  split.value = 2;  // D and L along X
  EXPECT_EQ(obedience().all().size(), 0u);
  split.value = 3;  // nothing along Y
  EXPECT_EQ(only(obedience()).substr(0, 5), "O0722");
  split.value = 0;
  EXPECT_EQ(only(obedience()).substr(0, 5), "O0722");
}

TEST_F(Legality, SplitsFollowTheOrderThatTheMapSpaceFixes) {
  constrain(Constraint::Kind::kSplit, 1, true, "split: 1").value = 1;
  Constraint& order = constrain(Constraint::Kind::kOrder, 1, true, "permutation: LDE");
  order.inner = {2, 0, 1};  // L first: D comes second and must go to Y
  EXPECT_EQ(only(obedience()),
            "O0722: at `DRAM`, D go along X and E along Y; the map space puts the first 1 loops of the spatial "
            "order along X");
  space.constraints[0].value = 2;
  EXPECT_EQ(obedience().all().size(), 0u);
  space.constraints[1].inner = {};
  space.constraints[1].outer = {1};
  EXPECT_EQ(obedience().all().size(), 0u);
}

TEST_F(Legality, KeepConstraintsHoldBothWays) {
  Constraint& constraint = constrain(Constraint::Kind::kKeep, 0, false, "keep: [Weights]");
  EXPECT_EQ(only(obedience()), "O0723: `Registers` bypasses `Weights`; the map space requires it kept");
  constraint.dataspace = 2;
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.keep = false;
  EXPECT_EQ(only(obedience()), "O0723: `Registers` keeps `Outputs`; the map space requires it bypassed");
}

TEST_F(Legality, ParallelismIsAShareOfTheFanOut) {
  Constraint& constraint = constrain(Constraint::Kind::kMinParallelism, 1, true, "parallelism: 0.5");
  constraint.fraction = 0.5;
  EXPECT_EQ(obedience().all().size(), 0u);
  constraint.fraction = 0.75;
  EXPECT_EQ(only(obedience()), "O0724: `DRAM` uses 4 of its fan-out of 2 x 4; the map space requires at least 6");
}

TEST(LegalityProperty, TheTwoFormsAgreeOnAnyMapping) {
  EXPECT_TRUE(rc::check("is_legal == no message from check_legal", [] {
    Dice dice = Dice::from_seed(*rc::gen::arbitrary<std::uint64_t>());
    const workload::Einsum einsum = testing::random_einsum(dice);
    const machine::Chip chip = testing::random_chip(dice);
    Mapping mapping = testing::random_mapping(dice, einsum, static_cast<int>(chip.storages.size()), false);
    if (dice.once_in(5)) mapping.levels[0].temporal[0] = dice(-1, 3);
    base::Diagnostics found;
    check_legal(einsum, chip, mapping, {}, found);
    RC_ASSERT(is_legal(einsum, chip, mapping) == !found.has_errors());
    RC_CLASSIFY(found.has_errors(), "illegal");
  }));
}

TEST(LegalityProperty, TheHintedFactorFitsAndTheNextDivisorDoesNot) {
  EXPECT_TRUE(rc::check("hint", [] {
    const Count capacity = *rc::gen::inRange<Count>(1, 200);
    const Count l = *rc::gen::element<Count>(12, 16, 24, 60, 64, 210);
    const workload::Einsum einsum = layer(4, 1, l);
    machine::Chip chip;
    chip.storages.resize(2);
    chip.storages[0] = {.name = "Buffer", .capacity_words = capacity};
    chip.storages[1] = {.name = "DRAM"};
    chip.compute.name = "MAC";
    Mapping mapping = testing::everything_outermost(einsum, chip);
    std::swap(mapping.levels[0].temporal, mapping.levels[1].temporal);
    mapping.levels[0].keep = 0b100;
    base::Diagnostics found;
    check_legal(einsum, chip, mapping, {}, found);
    Count largest = 0;
    for (const Count f : base::divisors(l))
      if (4 * f <= capacity) largest = f;
    RC_PRE(largest > 0 && largest < l);
    const std::string hint = "the largest factor of `L` at `Buffer` that fits is " + std::to_string(largest) + " ";
    const auto& hints = found.all().at(0).hints;
    RC_ASSERT(std::any_of(hints.begin(), hints.end(), [&](const std::string& h) { return h.rfind(hint, 0) == 0; }));
  }));
}

}  // namespace
}  // namespace orrery::nest
