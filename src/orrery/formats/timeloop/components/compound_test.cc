#include "orrery/formats/timeloop/components/compound.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using testing::parse;
using testing::Places;
using testing::places;
using testing::says;

struct Outcome {
  energy::Component component;
  base::Diagnostics found;
  bool compound = false;
  yaml::Node document;
};

// One component of class `part` with the attributes given, of the classes in `text`.
std::unique_ptr<Outcome> flatten(const std::string& text, energy::Attributes attributes = {},
                                 std::vector<std::string> required = {}, energy::EstimateOptions options = {}) {
  auto outcome = std::make_unique<Outcome>();
  outcome->document = parse(text);
  const yaml::Node* documents[] = {&outcome->document};
  ComponentClasses classes(documents, outcome->found);
  ComponentDemands demands;
  demands.class_name = "part";
  demands.required_actions = std::move(required);
  outcome->component.name = "Top";
  outcome->component.attributes = std::move(attributes);
  outcome->compound = take_apart(demands, classes, options, outcome->component, outcome->found);
  return outcome;
}

// "2*Top.a.read(x=1 ) ..." for the actions of an outcome.
std::string actions(const Outcome& outcome) {
  std::string all;
  for (const energy::Action& action : outcome.component.actions) {
    all += action.name + "(";
    for (const auto& [name, value] : action.arguments) all += name + "=" + energy::text(value) + " ";
    all += "):";
    for (const energy::Term& term : action.terms) {
      all += fmt::format(" {}*{}.{}", term.weight, outcome.component.primitives[term.primitive].path, term.action);
      for (const auto& [name, value] : term.arguments)
        if (name != "action_latency_cycles") all += " " + name + "=" + energy::text(value);
    }
    all += "; ";
  }
  return all;
}

std::string areas(const Outcome& outcome) {
  std::string all;
  for (const energy::Primitive& primitive : outcome.component.primitives)
    all += fmt::format("{}*{} ", primitive.area_weight, primitive.path);
  return all;
}

std::string value(const energy::Attributes& attributes, std::string_view name) {
  const energy::Value* found = energy::find(attributes, name);
  return found == nullptr ? "-" : energy::text(*found);
}

using base::Count;

TEST(Compound, AClassThatNobodyDescribesIsAPrimitiveWithTheActionsRequired) {
  const auto outcome = flatten("classes: []", {{"width", Count{8}}, {"global_cycle_seconds", 1e-9}}, {"read", "leak"});
  EXPECT_FALSE(outcome->compound);
  EXPECT_EQ(areas(*outcome), "1*Top ");
  EXPECT_EQ(actions(*outcome),
            "read(action_latency_cycles=1 global_cycle_seconds=1e-09 ): 1*Top.read global_cycle_seconds=1e-09; "
            "leak(action_latency_cycles=1 global_cycle_seconds=1e-09 ): 1*Top.leak global_cycle_seconds=1e-09; ");
  EXPECT_EQ(value(outcome->component.primitives[0].attributes, "cycle_seconds"), "1e-09");
  EXPECT_EQ(value(outcome->component.primitives[0].attributes, "n_instances"), "1");
}

const char* const kNested = R"(
classes:
- name: part
  attributes: {n: 4, width: must_specify, half: width / 2}
  subcomponents:
  - {name: "bank[0..n-1]", class: bank, attributes: {width: half}, area_scale: 0.5, energy_scale: 3}
  actions:
  - name: read
    subcomponents:
    - {name: "bank[0..1]", actions: [{name: get, energy_scale: 5}]}
- name: bank
  attributes: {width: 1, technology: "90nm"}
  subcomponents:
  - {name: "cell[1..width]", class: SRAM, attributes: {width: 1}, area_scale: 2}
  - {name: port, class: wire}
  actions:
  - name: get
    subcomponents:
    - {name: "cell[1..width]", actions: [{name: read, repeat: 7}]}
    - {name: port, actions: [{name: drive}]}
)";

TEST(Compound, WeightsMultiplyDownTheTree) {
  const auto outcome = flatten(kNested, {{"width", Count{16}}, {"technology", std::string("32nm")}});
  EXPECT_TRUE(outcome->compound);
  EXPECT_EQ(places(outcome->found), Places{});
  // 2 of 4 banks used, each 3 x 5; in each 8 cells, 7 times.
  EXPECT_EQ(actions(*outcome), "read(): 1680*Top.bank.cell.read 30*Top.bank.port.drive; ");
  // All 4 banks at half their area, in each 8 cells at twice theirs.
  EXPECT_EQ(areas(*outcome), "32*Top.bank.cell 2*Top.bank.port ");
  // What every class expects passes down unnamed, over the default of the class.
  EXPECT_EQ(value(outcome->component.primitives[1].attributes, "technology"), "32nm");
  EXPECT_EQ(value(outcome->component.primitives[1].attributes, "width"), "-");
  EXPECT_EQ(value(outcome->component.attributes, "half"), "8.0");
}

TEST(Compound, GivenAttributesReplaceDefaultsAndWhatFollowsFromThem) {
  const auto outcome = flatten(kNested, {{"width", Count{16}}, {"n", Count{10}}, {"half", Count{2}}});
  EXPECT_EQ(areas(*outcome), "20*Top.bank.cell 5*Top.bank.port ");
}

TEST(Compound, WhatMustBeSpecifiedIsAskedForByName) {
  const auto outcome = flatten(kNested);
  EXPECT_EQ(outcome->found.all().front().code, "O1212");
  EXPECT_TRUE(says(outcome->found, "`Top` has no `width`, which its class `part` must be given"));
}

TEST(Compound, ARangeOfAnArgumentIsAnEntryForEachValue) {
  const auto outcome = flatten(R"(
classes:
- name: part
  attributes: {most: 2}
  subcomponents: [{name: a, class: A}]
  actions:
  - name: send
    arguments: {to: 1..most, bits: 0..1}
    subcomponents: [{name: a, actions: [{name: go, arguments: {x: to * 10 + bits}, energy_scale: to}]}]
)");
  EXPECT_EQ(actions(*outcome),
            "send(bits=0 to=1 ): 1*Top.a.go x=10; send(bits=1 to=1 ): 1*Top.a.go x=11; "
            "send(bits=0 to=2 ): 2*Top.a.go x=20; send(bits=1 to=2 ): 2*Top.a.go x=21; ");
}

const char* const kShares = R"(
classes:
- name: part
  attributes: {n: 6}
  subcomponents: [{name: a, class: A, area_share: 3}]
  actions:
  - {name: read, subcomponents: [{name: a, actions: [{name: go, action_share: n}]}]}
)";

TEST(Compound, SharesOfOldDescriptionsCountAndSaySo) {
  const auto outcome = flatten(kShares);
  EXPECT_EQ(actions(*outcome), "read(): 6*Top.a.go; ");
  EXPECT_EQ(areas(*outcome), "3*Top.a ");
  EXPECT_EQ(places(outcome->found), (Places{"O1220@5:51w", "O1220@7:79w"}));
  EXPECT_TRUE(
      says(outcome->found, "`action_share` multiplies the energy of `go` in action `read` of class `part` by 6"));
}

TEST(Compound, SharesAreIgnoredOnRequestAndSaySo) {
  const auto outcome = flatten(kShares, {}, {}, energy::EstimateOptions::accelergy());
  EXPECT_EQ(actions(*outcome), "read(): 1*Top.a.go; ");
  EXPECT_EQ(areas(*outcome), "1*Top.a ");
  EXPECT_TRUE(says(outcome->found, "`action_share` is ignored; counted, it would multiply"));
  EXPECT_TRUE(says(outcome->found, "by 6"));
  EXPECT_FALSE(outcome->found.has_errors());
}

TEST(Compound, AnIgnoredShareNeedNoValue) {
  const std::string text = R"(
classes:
- name: part
  subcomponents: [{name: a, class: A}]
  actions: [{name: read, subcomponents: [{name: a, actions: [{name: go, action_share: unknown * 2}]}]}]
)";
  EXPECT_TRUE(flatten(text)->found.has_errors());
  EXPECT_FALSE(flatten(text, {}, {}, energy::EstimateOptions::accelergy())->found.has_errors());
}

TEST(Compound, AClassMayNotContainItself) {
  const auto outcome = flatten(R"(
classes:
- {name: part, subcomponents: [{name: a, class: other}]}
- {name: other, subcomponents: [{name: b, class: part}]}
)");
  EXPECT_EQ(places(outcome->found), Places{"O1213@4:40"});
  EXPECT_TRUE(says(outcome->found, "part -> other -> part"));
}

TEST(Compound, ASubcomponentThatIsNotThereIsNamed) {
  const auto outcome = flatten(R"(
classes:
- name: part
  subcomponents: [{name: storage, class: A}]
  actions: [{name: read, subcomponents: [{name: storge, actions: [{name: go}]}]}]
)");
  EXPECT_EQ(places(outcome->found), Places{"O1214@5:49"});
  EXPECT_TRUE(says(outcome->found, "did you mean `storage`?"));
}

const char* const kTwo = R"(
classes:
- name: part
  subcomponents: [{name: a, class: inner}]
  actions: [{name: read, subcomponents: [{name: a, actions: [{name: acces}]}]}]
- name: inner
  subcomponents: [{name: b, class: B}]
  actions: [{name: access, subcomponents: [{name: b, actions: [{name: go}]}]}, {name: leak}]
)";

TEST(Compound, AnActionThatACompoundHasNotIsNamedWithThoseItHas) {
  const auto outcome = flatten(kTwo);
  EXPECT_EQ(places(outcome->found), Places{"O1215@5:69"});
  EXPECT_TRUE(says(outcome->found, "did you mean `access`?"));
  EXPECT_TRUE(says(outcome->found, "its actions: `access`, `leak`"));
}

TEST(Compound, ARequiredActionThatACompoundHasNotIsNamed) {
  const auto outcome = flatten("classes: [{name: part, actions: [{name: read}]}]", {}, {"read", "update"});
  ASSERT_EQ(outcome->found.all().size(), 1u);
  EXPECT_EQ(outcome->found.all()[0].code, "O1215");
  EXPECT_TRUE(says(outcome->found, "no action `update`"));
}

TEST(Compound, AnUnknownKeyIsAWarning) {
  const auto outcome = flatten(R"(
classes:
- name: part
  subcomponents: [{name: a, class: A, area_scal: 3}]
  actions: [{name: read, subcomponents: [{name: a, actions: [{name: go, energy_scales: 2}]}]}]
)");
  EXPECT_EQ(places(outcome->found), (Places{"O1216@4:39w", "O1216@5:73w"}));
  EXPECT_TRUE(says(outcome->found, "did you mean `energy_scale`?"));
}

TEST(Compound, RangesMustBeRanges) {
  const auto range = [](const std::string& name) {
    return places(flatten("classes: [{name: part, subcomponents: [{name: \"" + name + "\", class: A}]}]")->found);
  };
  EXPECT_EQ(range("a[3..1]"), Places{"O1217@1:47"});
  EXPECT_EQ(range("a[3"), Places{"O1217@1:47"});
  EXPECT_EQ(range("a[]"), Places{"O1217@1:47"});
  EXPECT_EQ(range("a[0..3]"), Places{});
  EXPECT_EQ(range("a[1..0]"), Places{});  // none
  EXPECT_EQ(range("a[0..1.5]"), Places{"O0211@1:47"});
}

TEST(Compound, WhatMultipliesWithoutEndIsAnError) {
  const auto entries = flatten("classes: [{name: part, actions: [{name: read, arguments: {x: 1..1000000}}]}]");
  EXPECT_EQ(places(entries->found), Places{"O1218@1:62"});
  // Ten subcomponents of ten subcomponents of ...
  std::string text = "classes:\n";
  for (int depth = 0; depth < 12; ++depth) {
    text += fmt::format("- name: {}\n  subcomponents:\n", depth == 0 ? "part" : fmt::format("c{}", depth));
    for (int i = 0; i < 10; ++i) text += fmt::format("  - {{name: s{}, class: c{}}}\n", i, depth + 1);
  }
  text += "- {name: c12}\n";
  const auto parts = flatten(text);
  ASSERT_EQ(parts->found.all().size(), 1u);
  EXPECT_EQ(parts->found.all()[0].code, "O1218");
  // The same for actions that call each other.
  text = "classes:\n";
  for (int depth = 0; depth < 12; ++depth) {
    text += fmt::format(
        "- name: {}\n  subcomponents: [{{name: s, class: c{}}}]\n  actions:\n  - name: go\n    subcomponents:\n",
        depth == 0 ? "part" : fmt::format("c{}", depth), depth + 1);
    for (int i = 0; i < 10; ++i) text += "    - {name: s, actions: [{name: go}]}\n";
  }
  text += "- {name: c12, actions: [{name: go}]}\n";
  const auto calls = flatten(text);
  ASSERT_EQ(calls->found.all().size(), 1u);
  EXPECT_EQ(calls->found.all()[0].code, "O1218");
}

TEST(Compound, AnArgumentOfAnInnerCompoundMustBeGivenUnlessItHasOneValue) {
  const auto inner = [](const std::string& range) {
    return flatten(
        "classes:\n"
        "- name: part\n"
        "  subcomponents: [{name: a, class: inner}]\n"
        "  actions: [{name: read, subcomponents: [{name: a, actions: [{name: go}]}]}]\n"
        "- name: inner\n"
        "  subcomponents: [{name: b, class: B}]\n"
        "  actions: [{name: go, arguments: {x: " +
        range + "}, subcomponents: [{name: b, actions: [{name: run, arguments: {y: x}}]}]}]\n");
  };
  EXPECT_EQ(places(inner("0..1")->found), Places{"O1219@4:69"});
  EXPECT_EQ(actions(*inner("5..5")), "read(): 1*Top.a.b.run y=5; ");
}

TEST(Compound, ARangeInAnActionThatIsNotDeclaredIsAWarning) {
  const auto use = [](const std::string& name) {
    return flatten(
        "classes: [{name: part, subcomponents: [{name: \"a[0..3]\", class: A}], "
        "actions: [{name: read, subcomponents: [{name: \"" +
        name + "\", actions: [{name: go}]}]}]}]");
  };
  EXPECT_EQ(places(use("a[2..5]")->found), Places{"O1221@1:116w"});
  EXPECT_EQ(places(use("a")->found), Places{"O1221@1:116w"});
  EXPECT_EQ(actions(*use("a")), "read(): 1*Top.a.go; ");
  EXPECT_EQ(actions(*use("a[2]")), "read(): 1*Top.a.go; ");
  EXPECT_EQ(places(use("a[0..3]")->found), Places{});
}

TEST(Compound, ScalesAreNumbersFromZero) {
  const auto outcome = flatten(R"(
classes:
- name: part
  subcomponents: [{name: a, class: A, area_scale: 0 - 1}]
)");
  EXPECT_EQ(places(outcome->found), Places{"O1222@4:51"});
}

TEST(Compound, ClassesAreNamedAndNamedOnce) {
  EXPECT_EQ(places(flatten("classes: [{attributes: {}}]")->found), Places{"O1210@1:11"});
  EXPECT_EQ(places(flatten("classes: {a: b}")->found), Places{"O1210@1:10"});
  EXPECT_EQ(places(flatten("classes: [{name: part, actions: 3}]")->found), Places{"O1210@1:33"});
  EXPECT_EQ(places(flatten("classes: [{name: part, attributes: {a: 1}}, {name: part}]")->found), Places{"O1211@1:52"});
  // The same file given twice says nothing new.
  EXPECT_EQ(places(flatten("classes: [{name: part}, {name: part}]")->found), Places{});
  EXPECT_EQ(places(flatten("classes: [{name: part, actions: [{name: a}, {name: a}]}]")->found), Places{"O1211@1:52"});
}

TEST(Compound, AClassThatNoComponentUsesIsNotJudged) {
  EXPECT_EQ(places(flatten("classes: [{name: other, actions: 3, strange: 4}]")->found), Places{});
  EXPECT_EQ(places(flatten("classes: [{name: other}, {name: other, actions: 3}]")->found), Places{});
}

TEST(Compound, MergeKeysMakeOneActionOfAnother) {
  const auto outcome = flatten(R"(
classes:
- name: part
  subcomponents: [{name: a, class: A}]
  actions:
  - &write
    name: write
    subcomponents: [{name: a, actions: [{name: set}]}]
  - name: update
    <<: *write
)");
  EXPECT_EQ(actions(*outcome), "write(): 1*Top.a.set; update(): 1*Top.a.set; ");
}

}  // namespace
}  // namespace orrery::formats::timeloop
