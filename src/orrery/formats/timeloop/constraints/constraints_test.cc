#include "orrery/formats/timeloop/constraints/constraints.h"

#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Comparison;
using nest::Constraint;
using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

// Registers (0) < inter_PE_spatial (1, fan-out 4 x 1) < Buffer (2) < DRAM (3).
machine::Chip small_chip() {
  machine::Chip chip;
  const auto add = [&](const char* name, base::Count mesh_x) {
    machine::Storage storage;
    storage.name = name;
    storage.mesh_x = storage.instances = mesh_x;
    chip.storages.push_back(storage);
  };
  add("Registers", 4);
  add("inter_PE_spatial", 1);
  chip.storages[1].pass_through = true;
  add("Buffer", 1);
  add("DRAM", 1);
  chip.compute.name = "MAC";
  chip.compute.mesh_x = chip.compute.instances = 4;
  machine::Network network;
  network.name = "NoC";
  chip.networks.push_back(network);
  return chip;
}

struct Result {
  nest::Mapspace space;
  base::Diagnostics found;
};

struct Fixture {
  Architecture architecture;
  workload::Einsum einsum = workload::matmul("product", 16, 64, 128);  // E = 64, D = 16, L = 128
  std::vector<yaml::Node> kept;

  Fixture() { architecture.chip = small_chip(); }

  Result read(const std::string& text) {
    Result result;
    const yaml::Node document = parse(text);
    const yaml::Node* list = &document;
    result.space = read_constraints({&list, 1}, architecture, einsum, Scope(), result.found);
    return result;
  }

  Fixture& attach(const std::string& target, const std::string& body) {
    kept.reserve(16);
    kept.push_back(parse(body));
    architecture.attached.push_back({target, &kept.back()});
    return *this;
  }
};

// "D=16 temporal 2" for every factor of the given level that the document gave or implied.
std::vector<std::string> factors_at(const nest::Mapspace& space, int level) {
  std::vector<std::string> result;
  for (const Constraint& c : space.constraints)
    if (c.kind == Constraint::Kind::kFactor && c.level == level)
      result.push_back(fmt::format("{}{}{}{}", c.spatial ? "spatial " : "", "EDL"[c.dimension],
                                   c.comparison == Comparison::kEqual    ? "="
                                   : c.comparison == Comparison::kAtMost ? "<="
                                                                         : ">=",
                                   c.value));
  return result;
}

std::string keeps_at(const nest::Mapspace& space, int level) {
  std::string result = "???";  // Weights, Inputs, Outputs
  for (const Constraint& c : space.constraints)
    if (c.kind == Constraint::Kind::kKeep && c.level == level) result[c.dataspace] = c.keep ? 'k' : 'b';
  return result;
}

const Constraint* order_at(const nest::Mapspace& space, int level) {
  for (const Constraint& c : space.constraints)
    if (c.kind == Constraint::Kind::kOrder && c.level == level) return &c;
  return nullptr;
}

std::string list(const std::string& entry) {
  return "targets:\n- " + entry + "\n";
}

using Texts = std::vector<std::string>;

TEST(Constraints, WithoutAnyTheDefaultsRemain) {
  const Result result = Fixture().read("targets: []");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(keeps_at(result.space, 3), "kkk");
  EXPECT_EQ(keeps_at(result.space, 2), "???");
  EXPECT_EQ(keeps_at(result.space, 1), "bbb");
  EXPECT_EQ(factors_at(result.space, 1), (Texts{"E=1", "D=1", "L=1"}));
  EXPECT_EQ(factors_at(result.space, 2), Texts{});
}

TEST(Constraints, FactorsComeInEveryDialect) {
  for (const char* text : {"'E=4,D=16,L<=8'", "E=4 D=16 L<=8", "[E=4, D=16, 'L<=8']",
                           "'E = 4, D = 4 * 4, L <= max(2, 8)'", "[{E: 4, D: 16}, 'L<=8']"}) {
    const Result result = Fixture().read(list(fmt::format("{{target: Buffer, type: temporal, factors: {}}}", text)));
    EXPECT_EQ(places(result.found), Places{}) << text;
    EXPECT_EQ(factors_at(result.space, 2), (Texts{"E=4", "D=16", "L<=8"})) << text;
  }
}

TEST(Constraints, ZeroIsTheWholeDimension) {
  const Result result = Fixture().read(list("{target: Buffer, type: temporal, factors: [L=0]}"));
  EXPECT_EQ(factors_at(result.space, 2), Texts{"L=128"});
}

TEST(Constraints, AFactorBeyondTheBoundIsIgnoredWithAWarning) {
  const Result result = Fixture().read(list("{target: Buffer, type: temporal, factors: [E=1024, L=2]}"));
  EXPECT_EQ(places(result.found), Places{"O0510@2:46w"});
  EXPECT_TRUE(says(result.found, "`E` is now free in the temporal loops of `Buffer`"));
  EXPECT_EQ(factors_at(result.space, 2), Texts{"L=2"});
}

TEST(Constraints, ContainersAreNamedByTheirOwnNameOrByTheirLevel) {
  for (const char* name : {"PE", "inter_PE_spatial"}) {
    const Result result = Fixture().read(list(fmt::format("{{target: {}, type: spatial, factors: [E=4, D=1]}}", name)));
    EXPECT_EQ(places(result.found), Places{});
    EXPECT_EQ(factors_at(result.space, 1), (Texts{"spatial E=4", "spatial D=1", "E=1", "D=1", "L=1"}));
  }
}

TEST(Constraints, PermutationsAreInnerToOuterWithAFixedOuterEnd) {
  for (const char* text : {"ED_L", "'E,D,_,L'", "[E, D, _, L]", "E D _ L"}) {
    const Result result =
        Fixture().read(list(fmt::format("{{target: Buffer, type: temporal, permutation: {}}}", text)));
    EXPECT_EQ(places(result.found), Places{}) << text;
    const Constraint* order = order_at(result.space, 2);
    ASSERT_NE(order, nullptr);
    EXPECT_EQ(order->inner, (std::vector<int>{0, 1}));
    EXPECT_EQ(order->outer, std::vector<int>{2});
  }
}

TEST(Constraints, ASplitBeyondAllLoopsMeansAllOfThem) {
  const Result result = Fixture().read(list("{target: PE, type: spatial, split: 999}"));
  const auto& all = result.space.constraints;
  const auto split =
      std::find_if(all.begin(), all.end(), [](const Constraint& c) { return c.kind == Constraint::Kind::kSplit; });
  ASSERT_NE(split, all.end());
  EXPECT_EQ(split->value, 3);
}

TEST(Constraints, KeepAndBypassUnderEachOfTheirNames) {
  for (const char* type : {"dataspace", "datatype", "bypass", "bypassing"}) {
    const Result result =
        Fixture().read(list(fmt::format("{{target: Buffer, type: {}, keep: [Inputs], bypass: Weights}}", type)));
    EXPECT_EQ(keeps_at(result.space, 2), "bk?");
  }
  EXPECT_EQ(keeps_at(Fixture().read(list("{target: Buffer, type: bypass, bypass: ['*']}")).space, 2), "bbb");
}

TEST(Constraints, ReuseRulesReachTheirLevels) {
  const Result result = Fixture().read(
      "- {target: Buffer, type: temporal, no_reuse: [Inputs], rmw_first_update: [Outputs]}\n"
      "- {target: PE, type: spatial, no_reuse: [Weights]}\n");
  EXPECT_EQ(places(result.found), Places{});
  ASSERT_EQ(result.space.reuse.size(), 4u);
  EXPECT_EQ(result.space.reuse[2].no_temporal_reuse, 2u);
  EXPECT_EQ(result.space.reuse[2].read_first_update, 4u);
  EXPECT_EQ(result.space.reuse[1].no_spatial_sharing, 1u);
}

TEST(Constraints, LevelsThatPassThingsOnAreRefused) {
  const Result result = Fixture().read(
      "- {target: Buffer, type: dataspace, no_coalesce: [Outputs]}\n"
      "- {target: PE, type: dataspace, no_coalesce: []}\n");
  EXPECT_EQ(places(result.found), Places{"O0512@1:37"});
}

TEST(Constraints, TheOldestFormNestsConstraintsAndAttributes) {
  const Result result = Fixture().read(
      "- target: Buffer\n"
      "  constraints:\n"
      "  - {type: temporal, attributes: {factors: 'E=2'}}\n"
      "  - {type: bypass, attributes: {keep: [Inputs]}}\n");
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(factors_at(result.space, 2), Texts{"E=2"});
  EXPECT_EQ(keeps_at(result.space, 2), "?k?");
}

TEST(Constraints, NodesAndListsMeetInOneLevel) {
  const Result result = Fixture()
                            .attach("Buffer", "{temporal: {factors: [D=1, E=1], permutation: [E, D, L]}}")
                            .read(list("{target: Buffer, type: temporal, factors: [E=1, L=16]}"));
  EXPECT_EQ(places(result.found), Places{});
  EXPECT_EQ(factors_at(result.space, 2), (Texts{"E=1", "D=1", "L=16"}));
  EXPECT_NE(order_at(result.space, 2), nullptr);
}

TEST(Constraints, NodesAndListsMayNotContradictEachOther) {
  Fixture fixture;
  fixture.attach("Buffer", "{temporal: {factors: [E=2], permutation: EDL}, dataspace: {keep: [Inputs]}}");
  const Result result = fixture.read(
      "- {target: Buffer, type: temporal, factors: [E=4], permutation: LED}\n"
      "- {target: Buffer, type: dataspace, bypass: [Inputs]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0508@1:46", "O0509@2:46", "O0508@1:65"}));
  EXPECT_TRUE(says(result.found, "1:23: `E=2` here"));
}

TEST(Constraints, PermutationsThatDifferInUnitLoopsOnlyAgree) {
  const std::string node = "{temporal: {factors: [E=1], permutation: EDL}}";
  EXPECT_EQ(
      places(Fixture().attach("Buffer", node).read(list("{target: Buffer, type: temporal, permutation: DEL}")).found),
      Places{});
  EXPECT_EQ(
      places(Fixture().attach("Buffer", node).read(list("{target: Buffer, type: temporal, permutation: ELD}")).found),
      Places{"O0508@2:49"});
}

TEST(Constraints, TheV3FormForbidsAnyRepetitionButTheOutermostKeep) {
  Fixture fixture;
  fixture.architecture.v3 = true;
  const Result result = fixture.read(
      "- {target: Buffer, type: temporal, factors: E=2}\n"
      "- {target: Buffer, type: temporal, factors: E=2}\n"
      "- {target: DRAM, type: bypass, keep: [Inputs]}\n"
      "- {target: DRAM, type: bypass, bypass: [Inputs]}\n"
      "- {target: PE, type: spatial, split: 1}\n"
      "- {target: PE, type: spatial, split: 1}\n");
  EXPECT_EQ(places(result.found), (Places{"O0508@2:45", "O0508@6:38"}));
  EXPECT_EQ(keeps_at(result.space, 3), "kbk");
}

TEST(Constraints, UnknownTargetsNameTheLevels) {
  const Result result = Fixture().read(list("{target: Bufer, type: temporal}"));
  EXPECT_EQ(places(result.found), Places{"O0502@2:12"});
  EXPECT_TRUE(says(result.found, "did you mean `Buffer`?"));
  EXPECT_TRUE(says(result.found, "`DRAM`, `Buffer`, `PE`, `Registers`"));
}

TEST(Constraints, ComputeAndNetworksHaveNothingToConstrain) {
  EXPECT_EQ(places(Fixture().read(list("{target: MAC, type: spatial, factors: D=1}")).found), Places{"O0503@2:12"});
  EXPECT_EQ(places(Fixture().read(list("{target: NoC, type: temporal, factors: D=1}")).found), Places{"O0503@2:12"});
}

TEST(Constraints, TargetAndTypeAreRequiredAndTypesKnown) {
  EXPECT_EQ(places(Fixture().read(list("{type: temporal}")).found), Places{"O0501@2:3"});
  EXPECT_EQ(places(Fixture().read(list("{target: Buffer}")).found), Places{"O0501@2:3"});
  EXPECT_EQ(places(Fixture().read(list("{target: Buffer, type: temporl}")).found), Places{"O0504@2:26"});
}

TEST(Constraints, WrongKindsOfNodesAreErrors) {
  EXPECT_EQ(places(Fixture().read("7").found), Places{"O0500@1:1"});
  EXPECT_EQ(places(Fixture().read("targets: {a: 1}").found), Places{"O0500@1:10"});
  EXPECT_EQ(places(Fixture().read("[7]").found), Places{"O0500@1:2"});
  EXPECT_EQ(places(Fixture().attach("Buffer", "[1]").read("[]").found), Places{"O0500@1:1"});
}

TEST(Constraints, UnknownDimensionsAndDataspacesAreErrors) {
  const Result result = Fixture().read(
      "- {target: Buffer, type: temporal, factors: 'E=1, M=2', permutation: EM}\n"
      "- {target: Buffer, type: bypass, keep: [Input]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0505@1:51", "O0505@1:71", "O0506@2:41"}));
  EXPECT_TRUE(says(result.found, "did you mean `Inputs`?"));
}

TEST(Constraints, MalformedFactorsShowTheirPlace) {
  const Result result = Fixture().read(
      "- {target: Buffer, type: temporal, factors: [E<4]}\n"
      "- {target: Buffer, type: temporal, factors: ['D=']}\n"
      "- {target: Buffer, type: temporal, factors: [L=-1, 'E<=0']}\n"
      "- {target: DRAM, type: temporal, factors: [[E]], permutation: {a: 1}}\n"
      "- {target: DRAM, type: temporal, permutation: EDE}\n");
  EXPECT_EQ(places(result.found),
            (Places{"O0507@1:46", "O0507@2:47", "O0518@3:46", "O0518@3:53", "O0507@4:44", "O0507@4:63", "O0519@5:49"}));
}

TEST(Constraints, FactorsThatAreNoWholeNumbersAreErrors) {
  const Result result = Fixture().read("- {target: Buffer, type: temporal, factors: [E=1.5, D=SIZE]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0211@1:48", "O0201@1:55"}));
}

TEST(Constraints, SpatialConstraintsNeedAFanOut) {
  EXPECT_EQ(places(Fixture().read(list("{target: Buffer, type: spatial, factors: [E=4]}")).found),
            Places{"O0511@2:45"});
  EXPECT_EQ(places(Fixture().read(list("{target: Buffer, type: spatial, factors: [E=1, D=1]}")).found),
            Places{"O0511@2:45w"});
}

TEST(Constraints, FanOutsNeitherKeepNorIterate) {
  const Result result = Fixture().read(
      "- {target: PE, type: dataspace, keep: [Inputs]}\n"
      "- {target: PE, type: temporal, factors: [E=2]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0517@2:42", "O0517@1:40"}));
}

TEST(Constraints, WhatWouldChangeTheFiguresIsRefused) {
  const Result result = Fixture().read(
      "- {target: Buffer, type: skew, modulo: 4}\n"
      "- {target: Buffer, type: max_overbooked_proportion, proportion: 0.5}\n"
      "- {target: Buffer, type: temporal, remainders: 2}\n"
      "- {target: Buffer, type: dataspace, passthrough: [Inputs]}\n");
  EXPECT_EQ(places(result.found), (Places{"O0512@1:3", "O0512@2:3", "O0512@3:36", "O0512@4:37"}));
  EXPECT_EQ(places(Fixture().read("{template: ruby}").found), Places{"O0512@1:12"});
  EXPECT_EQ(places(Fixture().read("{version: 0.4, template: uber}").found), Places{});
}

TEST(Constraints, UnknownKeysAreWarnings) {
  const Result result = Fixture().read(list("{target: Buffer, type: temporal, factor: [E=1]}"));
  EXPECT_EQ(places(result.found), Places{"O0513@2:36w"});
  EXPECT_TRUE(says(result.found, "did you mean `factors`?"));
}

TEST(Constraints, AContainerWithoutFanOutHasNothingToConstrain) {
  EXPECT_EQ(places(Fixture().attach("Chip", "{spatial: {factors: [E=1]}}").read("[]").found), Places{"O0520@1:2w"});
}

TEST(Constraints, UtilizationIsDemandedOfTheOneFanOut) {
  const Result result = Fixture().read(list("{target: Registers, type: utilization, min: 0.5}"));
  EXPECT_EQ(places(result.found), Places{});
  const auto& all = result.space.constraints;
  const auto least = std::find_if(all.begin(), all.end(),
                                  [](const Constraint& c) { return c.kind == Constraint::Kind::kMinParallelism; });
  ASSERT_NE(least, all.end());
  EXPECT_EQ(least->level, 1);
  EXPECT_EQ(least->fraction, 0.5);
  EXPECT_EQ(places(Fixture().read(list("{target: Registers, type: utilization, min: 2}")).found), Places{"O0518@2:47"});
  EXPECT_EQ(places(Fixture().read(list("{target: DRAM, type: utilization, min: 1}")).found), Places{"O0511@2:42"});
}

// NVlabs' configs/mapper/sample.yaml demands one hundredth of two fan-outs, whose factors it gives.
TEST(Constraints, UtilizationOfTwoFanOutsHoldsWhereTheGivenFactorsReachIt) {
  const auto read = [](const char* factor, const char* least) {
    Fixture fixture;
    fixture.architecture.chip.storages[0].mesh_x = fixture.architecture.chip.storages[0].instances = 32;
    fixture.architecture.chip.storages[1].mesh_x = fixture.architecture.chip.storages[1].instances = 8;
    fixture.architecture.chip.compute.mesh_x = fixture.architecture.chip.compute.instances = 32;
    return places(fixture
                      .read(fmt::format("- {{target: Buffer, type: spatial, factors: [{}]}}\n"
                                        "- {{target: Registers, type: utilization, min: {}}}\n",
                                        factor, least))
                      .found);
  };
  EXPECT_EQ(read("E=8", "0.25"), Places{});
  EXPECT_EQ(read("E=8", "0.26"), Places{"O0512@2:47"});
  EXPECT_EQ(read("E<=8", "0.25"), Places{"O0512@2:47"});
}

}  // namespace
}  // namespace orrery::formats::timeloop
