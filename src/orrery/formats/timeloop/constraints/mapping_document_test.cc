#include "orrery/formats/timeloop/constraints/mapping_document.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <numeric>

#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::LevelMapping;
using nest::Mapping;
using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

// Registers (0) < inter_PE_spatial (1, fan-out 4 x 2) < Buffer (2) < DRAM (3).
machine::Chip two_buffer_chip() {
  machine::Chip chip;
  for (const char* name : {"Registers", "inter_PE_spatial", "Buffer", "DRAM"}) {
    machine::Storage storage;
    storage.name = name;
    const bool inside = chip.storages.empty();
    storage.mesh_x = inside ? 4 : 1;
    storage.mesh_y = inside ? 2 : 1;
    storage.instances = storage.mesh_x * storage.mesh_y;
    chip.storages.push_back(storage);
  }
  chip.storages[1].pass_through = true;
  chip.compute.name = "MAC";
  chip.compute.mesh_x = 4;
  chip.compute.mesh_y = 2;
  chip.compute.instances = 8;
  return chip;
}

workload::Einsum product() {
  return workload::matmul("product", 16, 64, 128);  // E = 64, D = 16, L = 128
}

struct ReadMapping {
  Mapping mapping;
  base::Diagnostics found;
};

ReadMapping read(const std::string& list, const workload::Einsum& einsum = product()) {
  ReadMapping result;
  const yaml::Node document = parse(list);
  result.mapping = read_mapping(document, two_buffer_chip(), einsum, Scope(), result.found);
  return result;
}

const char* const kWhole =
    "- {target: Registers, type: dataspace, keep: [Weights], bypass: [Inputs, Outputs]}\n"
    "- {target: Buffer, type: datatype, keep: [Inputs], bypass: [Weights]}\n"
    "- {target: Registers, type: temporal, factors: L16 E1 D1, permutation: LED}\n"
    "- {target: PE, type: spatial, factors: [E=4, D=2], permutation: [E, D, L], split: 1}\n"
    "- {target: Buffer, type: temporal, factors: 'E=16,L=8', permutation: LED}\n"
    "- {target: DRAM, type: temporal, factors: D=0, permutation: D E L}\n";

TEST(MappingDocument, ReadsFactorsOrdersSplitsAndKeeps) {
  const ReadMapping result = read(kWhole);
  ASSERT_EQ(places(result.found), Places{});
  const auto& levels = result.mapping.levels;
  EXPECT_EQ(levels[0].temporal, (std::vector<Count>{1, 1, 16}));
  EXPECT_EQ(levels[0].temporal_order, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(levels[0].keep, 1u);
  EXPECT_EQ(levels[1].spatial, (std::vector<Count>{4, 2, 1}));
  EXPECT_EQ(levels[1].split, 1);
  EXPECT_EQ(levels[2].temporal, (std::vector<Count>{16, 1, 8}));
}

TEST(MappingDocument, ZeroIsWhatTheOtherLevelsLeave) {
  EXPECT_EQ(read(kWhole).mapping.levels[3].temporal, (std::vector<Count>{1, 8, 1}));
}

TEST(MappingDocument, WhatIsNotNamedIsKeptAndFanOutsKeepNothing) {
  const ReadMapping result = read(kWhole);
  EXPECT_EQ(result.mapping.levels[2].keep, 6u);  // Outputs not named
  EXPECT_EQ(result.mapping.levels[3].keep, 7u);
  EXPECT_EQ(result.mapping.levels[1].keep, 0u);
}

TEST(MappingDocument, WithoutASplitAllLoopsGoToX) {
  EXPECT_EQ(read("- {target: PE, type: spatial, factors: E4}").mapping.levels[1].split, 3);
}

TEST(MappingDocument, FactorsMustMultiplyToTheBoundAndTheSumIsShown) {
  const ReadMapping result = read(
      "- {target: PE, type: spatial, factors: [E=4]}\n"
      "- {target: DRAM, type: temporal, factors: [E=8, D=16, L=128]}\n");
  EXPECT_EQ(places(result.found), Places{"O0702@2:44"});
  EXPECT_TRUE(says(result.found, "8 (DRAM) * 4 (inter_PE_spatial, spatial) = 32, but E = 64"));
}

TEST(MappingDocument, TheRestMustBeAWholeDivisorAndUnique) {
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: [E=0, D=16, L=128]}\n"
                        "- {target: Buffer, type: temporal, factors: [E=5]}\n")
                       .found),
            Places{"O0707@1:44"});
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: [E=0, D=16, L=128]}\n"
                        "- {target: Buffer, type: temporal, factors: [E=0]}\n")
                       .found)
                .size(),
            1u);
}

TEST(MappingDocument, UnknownTargetsAndTypesAreErrors) {
  const ReadMapping result = read(
      "- {target: Bufer, type: temporal, factors: E64}\n"
      "- {target: DRAM, type: tempral, factors: E64}\n");
  EXPECT_EQ(places(result.found)[0], "O0701@1:12");
  EXPECT_EQ(places(result.found)[1], "O0701@2:24");
  EXPECT_TRUE(says(result.found, "did you mean `Buffer`?"));
}

TEST(MappingDocument, DirectivesAreMapsInAList) {
  EXPECT_EQ(places(read("{a: 1}").found), Places{"O0700@1:1"});
  EXPECT_EQ(places(read("[7]").found)[0], "O0700@1:2");
  EXPECT_EQ(places(read("- {target: DRAM}").found)[0], "O0700@1:3");
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: ['E<=64']}").found)[0], "O0700@1:45");
}

TEST(MappingDocument, RepetitionsShowBothPlaces) {
  const ReadMapping result = read(
      "- {target: DRAM, type: temporal, factors: 'E64 E64 D16 L128'}\n"
      "- {target: DRAM, type: temporal, factors: E64}\n"
      "- {target: DRAM, type: bypass, keep: [Inputs], bypass: [Inputs]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0704@1:48", "O0704@2:3", "O0704@3:57"}));
  EXPECT_TRUE(says(result.found, "1:44: `E64` here"));
}

// D = 16 as 3 x (6, last 4): 2 * 6 + 3 + 1.
TEST(MappingDocument, AFactorMayLeaveARest) {
  for (const char* text : {"'E=64, L128 D=6,4'", "'D6,4 E64 L128'", "['D=6,4', E64, L128]"}) {
    const ReadMapping result =
        read(fmt::format("- {{target: DRAM, type: temporal, factors: D3}}\n"
                         "- {{target: Buffer, type: temporal, factors: {}}}\n",
                         text));
    EXPECT_EQ(places(result.found), Places{}) << text;
    const LevelMapping& buffer = result.mapping.levels[2];
    for (int d = 0; d < 3; ++d) {
      const Count bound = product().dimensions[d].bound;
      EXPECT_EQ(buffer.factor(false, d), bound == 16 ? (nest::Factor{6, 4}) : (nest::Factor{bound, bound})) << text;
    }
    EXPECT_TRUE(result.mapping.levels[3].perfect());
    EXPECT_TRUE(buffer.spatial_last.empty());
  }
}

TEST(MappingDocument, ALastRoundIsNoLongerThanItsLoop) {
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: 'E16,17 D16'}").found)[0], "O1949@1:48");
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: 'E16,0 D16'}").found)[0], "O1949@1:48");
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: 'E16, 8 D16'}").found)[0], "O0507@1:49");
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factors: 'E16,8,4 D16'}").found)[0], "O0507@1:50");
}

TEST(MappingDocument, SkewedMappingsAreRefused) {
  EXPECT_EQ(places(read("- {target: DRAM, type: skew}").found)[0], "O0705@1:24");
  EXPECT_EQ(places(read("- {target: DRAM, type: dataspace, no_coalesce: [Outputs]}").found)[0], "O0512@1:35");
}

TEST(MappingDocument, ExceptionsToReuseHoldForThisMapping) {
  const yaml::Node document = parse(
      "- {target: PE, type: spatial, factors: [E=4, D=2], no_reuse: [Weights], no_link_transfer: [Inputs]}\n"
      "- {target: DRAM, type: temporal, factors: 'E=0 L=0 D=0', no_reuse: '*', rmw_first_update: [Outputs]}\n");
  const workload::Einsum einsum = product();
  base::Diagnostics found;
  nest::Mapspace space;
  read_mapping(document, two_buffer_chip(), einsum, Scope(), found, nullptr, &space);
  EXPECT_TRUE(found.all().empty());
  ASSERT_EQ(space.reuse.size(), 4u);
  const auto bit = [&](const char* name) { return std::uint32_t{1} << einsum.dataspace_index(name); };
  EXPECT_EQ(space.reuse[1].no_spatial_sharing, bit("Weights"));
  EXPECT_EQ(space.reuse[1].no_links, bit("Inputs"));
  EXPECT_EQ(space.reuse[3].no_temporal_reuse, 7u);
  EXPECT_EQ(space.reuse[3].read_first_update, bit("Outputs"));
}

TEST(MappingDocument, UnknownKeysAreWarnings) {
  EXPECT_EQ(places(read("- {target: DRAM, type: temporal, factor: E64}").found)[0], "O0706@1:34w");
}

TEST(MappingDocument, OnlyFanOutsSpreadAndOnlyStoresKeep) {
  const ReadMapping result = read(
      "- {target: Buffer, type: spatial, factors: [E=4]}\n"
      "- {target: PE, type: dataspace, keep: [Inputs]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0708@1:45", "O0708@2:40"}));
}

TEST(MappingDocument, WritesTheLayoutOfTimeloop) {
  const std::string text = write_mapping_yaml(product(), two_buffer_chip(), read(kWhole).mapping);
  EXPECT_EQ(text.substr(0, text.find("  - target: Buffer")),
            "mapping:\n"
            "  - target: Registers\n    type: datatype\n    keep:\n      - Weights\n"
            "    bypass:\n      - Inputs\n      - Outputs\n"
            "  - target: inter_PE_spatial\n    type: datatype\n    keep:\n      []\n"
            "    bypass:\n      - Weights\n      - Inputs\n      - Outputs\n");
  EXPECT_NE(
      text.find("  - target: inter_PE_spatial\n    type: spatial\n    factors: E4 D2 L1\n    permutation: EDL\n"
                "    split: 1\n"
                "  - target: inter_PE_spatial\n    type: temporal\n    factors: E1 D1 L1\n    permutation: EDL\n"),
      std::string::npos);
}

// Random names (one letter, or several with digits), factors, orders, splits and keeps.
workload::Einsum random_einsum(bool long_names) {
  workload::Einsum einsum = product();
  if (long_names) {
    einsum.dimensions[0].name = "E1";
    einsum.dimensions[1].name = "E";
    einsum.dimensions[2].name = "rows_";
  }
  for (workload::Dimension& dimension : einsum.dimensions) dimension.bound = 1;
  return einsum;
}

std::vector<int> random_order(std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[*rc::gen::inRange<std::size_t>(0, i)]);
  return order;
}

TEST(MappingDocument, WhatIsWrittenReadsBackTheSame) {
  EXPECT_TRUE(rc::check("round trip", [] {
    const machine::Chip chip = two_buffer_chip();
    workload::Einsum einsum = random_einsum(*rc::gen::arbitrary<bool>());
    Mapping mapping;
    for (std::size_t l = 0; l < chip.storages.size(); ++l) {
      LevelMapping level;
      level.temporal_order = random_order(3);
      level.spatial_order = random_order(3);
      level.split = *rc::gen::inRange(0, 4);
      level.keep = l == 1 ? 0 : *rc::gen::inRange<std::uint32_t>(0, 8);
      for (workload::Dimension& dimension : einsum.dimensions) {
        level.temporal.push_back(*rc::gen::element<Count>(1, 1, 2, 3, 16));
        level.spatial.push_back(l == 1 ? *rc::gen::element<Count>(1, 2, 4) : 1);
        dimension.bound *= level.temporal.back() * level.spatial.back();
      }
      if (*rc::gen::arbitrary<bool>()) {
        level.temporal_last = level.temporal;
        for (Count& last : level.temporal_last) last = *rc::gen::inRange<Count>(1, last + 1);
        if (level.temporal_last == level.temporal) level.temporal_last.clear();
      }
      mapping.levels.push_back(level);
    }
    const std::string text = write_mapping_yaml(einsum, chip, mapping);
    const yaml::Node document = parse(text);
    base::Diagnostics found;
    const Mapping back = read_mapping(*document.find("mapping"), chip, einsum, Scope(), found);
    RC_ASSERT(places(found) == Places{});
    RC_ASSERT(back == canonical(mapping));
    RC_ASSERT(write_mapping_yaml(einsum, chip, back) == text);
  }));
}

}  // namespace
}  // namespace orrery::formats::timeloop
