#include "orrery/formats/timeloop/constraints/macros.h"

#include "orrery/formats/timeloop/constraints/constraints.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Constraint;
using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

// Three register files in parallel (0, 1, 2) < inter_PE_spatial (3, fan-out 8 x 2) < DRAM (4).
struct MacrosFixture {
  Architecture architecture;
  workload::Einsum einsum = workload::matmul("product", 16, 64, 128);  // E = 64, D = 16, L = 128
  yaml::Node nothing;

  explicit MacrosFixture(bool parallel = false) {
    machine::Chip& chip = architecture.chip;
    for (const char* name : {"A", "B", "C", "inter_PE_spatial", "DRAM"}) {
      machine::Storage storage;
      storage.name = name;
      const bool inside = chip.storages.size() < 3;
      storage.mesh_x = inside ? 8 : 1;
      storage.mesh_y = inside ? 2 : 1;
      storage.instances = storage.mesh_x * storage.mesh_y;
      storage.pass_through = chip.storages.size() == 3;
      chip.storages.push_back(storage);
    }
    chip.compute.name = "MAC";
    chip.compute.mesh_x = 8;
    chip.compute.mesh_y = 2;
    chip.compute.instances = 16;
    if (parallel) {
      ParallelGroup group;
      group.branches = {{{0}, nullptr}, {{1}, nullptr}, {{2}, nullptr}};
      architecture.parallel.push_back(group);
    }
  }

  std::string read(const std::string& text, base::Diagnostics& found, int level) {
    const yaml::Node document = parse(text);
    const yaml::Node* list = &document;
    const nest::Mapspace space = read_constraints({&list, 1}, architecture, einsum, Scope(), found);
    std::string result;
    for (const Constraint& c : space.constraints) {
      if (c.level != level) continue;
      if (c.kind == Constraint::Kind::kFactor && c.spatial == (level == 3))
        result += fmt::format("{}={} ", "EDL"[c.dimension], c.value);
      if (c.kind == Constraint::Kind::kKeep && level != 3) result += c.keep ? 'k' : 'b';
    }
    return result;
  }

  std::string good(const std::string& text, int level) {
    base::Diagnostics found;
    const std::string result = read(text, found, level);
    EXPECT_EQ(places(found), Places{}) << testing::words(found);
    return result;
  }

  Places bad(const std::string& text) {
    base::Diagnostics found;
    read(text, found, 0);
    return places(found);
  }
};

TEST(Macros, FactorsOnlyFixesTheOthersToOne) {
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: temporal, factors_only: [E=4]}", 0), "E=4 D=1 L=1 ");
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: temporal, factors_only: []}", 0), "E=1 D=1 L=1 ");
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: temporal, factors: [D=2], factors_only: [E=4]}", 0),
            "E=4 D=2 L=1 ");
}

TEST(Macros, IterationIsForbiddenOrRequiredByDataspace) {
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: temporal, no_iteration_over_dataspaces: [Weights]}", 0),
            "E=1 D=1 ");
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: temporal, must_iterate_over_dataspaces: [Weights]}", 0), "L=1 ");
}

TEST(Macros, MacrosMayNotContradictFactors) {
  EXPECT_EQ(
      MacrosFixture().bad("- {target: A, type: temporal, factors: [E=4], no_iteration_over_dataspaces: [Weights]}"),
      Places{"O0508@1:47"});
}

TEST(Macros, KeepOnlyAndBypassOnlySpeakOfAllDataspaces) {
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: dataspace, keep_only: [Inputs]}", 0), "bkb");
  EXPECT_EQ(MacrosFixture().good("- {target: A, type: dataspace, bypass_only: [Inputs]}", 0), "kbk");
}

TEST(Macros, MaximizeDimsFillsTheFanOut) {
  EXPECT_EQ(MacrosFixture().good("- {target: PE, type: spatial, maximize_dims: [[D], [E]]}", 3), "E=1 D=16 ");
  EXPECT_EQ(MacrosFixture().good("- {target: PE, type: spatial, factors: [L=4], maximize_dims: [E, D]}", 3),
            "E=4 D=1 L=4 ");
}

TEST(Macros, MaximizeDimsFillsACapacityWithWhatTheOtherLevelsLeave) {
  EXPECT_EQ(
      MacrosFixture().good("- {target: A, type: temporal, maximize_dims: [[E], [L]], maximize_dims_capacity: 16*4}\n"
                           "- {target: B, type: temporal, factors: [E=16]}\n",
                           0),
      "E=4 L=16 ");
}

TEST(Macros, SpatialLoopsAreFilledBeforeTemporalOnes) {
  const std::string text =
      "- {target: A, type: temporal, maximize_dims: [[E]], maximize_dims_capacity: 32}\n"
      "- {target: PE, type: spatial, maximize_dims: [[E]]}\n";
  EXPECT_EQ(MacrosFixture().good(text, 3), "E=16 ");
  EXPECT_EQ(MacrosFixture().good(text, 0), "E=4 ");
}

TEST(Macros, MaximizeDimsNeedsACapacityAndFreeDimensions) {
  EXPECT_EQ(MacrosFixture().bad("- {target: A, type: temporal, maximize_dims: [[E]]}"), Places{"O0514@1:31"});
  EXPECT_EQ(MacrosFixture().bad("- {target: PE, type: spatial, factors: [E=2], maximize_dims: [[E]]}"),
            Places{"O0514@1:64"});
  EXPECT_EQ(MacrosFixture().bad("- {target: PE, type: spatial, maximize_dims: [[M]]}"), Places{"O0505@1:48"});
  EXPECT_EQ(MacrosFixture().bad("- {target: PE, type: spatial, maximize_dims: [E, [D]]}"), Places{"O0514@1:50"});
  EXPECT_EQ(MacrosFixture().bad("- {target: PE, type: spatial, maximize_dims: E}"), Places{"O0514@1:46"});
}

TEST(Macros, ARemainderThatTimeloopWouldTakeIsToldAndNotTaken) {
  MacrosFixture fixture;
  fixture.einsum.dimensions[0].bound = 500;
  base::Diagnostics found;
  EXPECT_EQ(fixture.read("- {target: A, type: temporal, maximize_dims: [[E]], maximize_dims_capacity: 64}", found, 0),
            "E=50 ");
  EXPECT_EQ(places(found), Places{"O0515@1:47w"});
  EXPECT_TRUE(says(found, "Timeloop takes E=63"));
}

TEST(Macros, AreOfTheV4FormOnly) {
  MacrosFixture fixture;
  fixture.architecture.v3 = true;
  EXPECT_EQ(fixture.bad("- {target: A, type: temporal, factors_only: [E=4]}\n"
                        "- {target: A, type: bypass, keep_only: [Inputs]}\n"),
            (Places{"O0513@1:31w", "O0513@2:29w"}));
}

const char* const kEachKeptOnce =
    "- {target: A, type: dataspace, keep: [Weights]}\n"
    "- {target: B, type: dataspace, keep: [Inputs]}\n"
    "- {target: C, type: dataspace, keep: [Outputs]}\n";

TEST(ParallelBranches, KeepWhatTheyAreToldAndPassTheRest) {
  EXPECT_EQ(MacrosFixture(true).good(kEachKeptOnce, 0), "kbb");
  EXPECT_EQ(MacrosFixture(true).good(kEachKeptOnce, 1), "bkb");
  EXPECT_EQ(MacrosFixture(true).good(kEachKeptOnce, 2), "bbk");
}

TEST(ParallelBranches, ADataspaceKeptInNoneOrInTwoIsAnError) {
  MacrosFixture fixture(true);
  EXPECT_EQ(fixture.bad("- {target: A, type: dataspace, keep: [Weights]}\n"
                        "- {target: B, type: dataspace, keep: [Inputs]}\n"),
            Places{"O0516@0:0"});
  base::Diagnostics found;
  fixture.read(std::string(kEachKeptOnce) + "- {target: C, type: dataspace, keep: [Inputs]}\n", found, 0);
  EXPECT_EQ(places(found), Places{"O0516@4:39"});
  EXPECT_TRUE(says(found, "2:39: another branch"));
}

TEST(ParallelBranches, NothingIsABranchThatTakesDataPast) {
  MacrosFixture fixture(true);
  fixture.nothing = parse("{dataspace: {keep: [Outputs]}}");
  fixture.architecture.parallel[0].branches.push_back({{}, &fixture.nothing});
  EXPECT_EQ(fixture.good("- {target: A, type: dataspace, keep: [Weights]}\n"
                         "- {target: B, type: dataspace, keep: [Inputs]}\n",
                         2),
            "bbb");
}

}  // namespace
}  // namespace orrery::formats::timeloop
