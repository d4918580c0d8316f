#include "orrery/verbs/sweep/points/study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "orrery/verbs/sweep/points/study_document.h"
#include "orrery/verbs/sweep/points/values.h"

namespace orrery::sweep {
namespace {

base::Location place(const std::string& text) {
  return {std::make_shared<const base::SourceFile>(base::SourceFile{"<test>", text}), 1, 1, 1};
}

std::vector<std::string> values(const std::string& text) {
  return values_of(text, place(text));
}

std::string refusal(const std::string& text) {
  try {
    values(text);
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code + " " + error.diagnostics.front().message;
  }
  return "taken";
}

Study study_from(const std::string& text) {
  return read_study(std::make_shared<const base::SourceFile>(base::SourceFile{"study.yaml", text}));
}

TEST(Values, RangesListsAndPowersSayWhatTheyMean) {
  using List = std::vector<std::string>;
  EXPECT_EQ(values("8,16,32"), (List{"8", "16", "32"}));
  EXPECT_EQ(values("1..4"), (List{"1", "2", "3", "4"}));
  EXPECT_EQ(values("64Ki..1Mi:x2"), (List{"65536", "131072", "262144", "524288", "1048576"}));
  EXPECT_EQ(values("0.1..0.5:0.1"), (List{"0.1", "0.2", "0.3", "0.4", "0.5"}));
  EXPECT_EQ(values("1,4..6,x"), (List{"1", "4", "5", "6", "x"}));
  EXPECT_EQ(values("2Ki"), (List{"2048"}));
  EXPECT_EQ(values("gemmini,../arch.yaml"), (List{"gemmini", "../arch.yaml"}));
  EXPECT_EQ(values("5..5"), (List{"5"}));
  EXPECT_EQ(values("1e17..1e17"), (List{"1e+17"}));
  EXPECT_EQ(values("1e12..1e12"), (List{"1000000000000"}));
  EXPECT_EQ(values("1000000000..1000000002"), (List{"1000000000", "1000000001", "1000000002"}));
}

TEST(Values, RangesThatNeverEndAreRefused) {
  EXPECT_EQ(refusal("1.."), "O2046 the range `1..` never ends");
  EXPECT_EQ(refusal("1..8:0"), "O2046 the range `1..8:0` never ends");
  EXPECT_EQ(refusal("1..8:-1"), "O2046 the range `1..8:-1` never ends");
  EXPECT_EQ(refusal("1..8:x1"), "O2046 the range `1..8:x1` never ends");
  EXPECT_EQ(refusal("0..8:x2"), "O2046 the range `0..8:x2` never ends");
  EXPECT_EQ(refusal("8..1"), "O2046 the range `8..1` is empty");
  EXPECT_EQ(refusal("1..1e12"), "O2046 the range `1..1e12` is too long");
  EXPECT_EQ(refusal("1e17..1.000000000000001e17"), "O2046 the steps of the range `1e17..1.000000000000001e17` vanish");
  EXPECT_EQ(refusal("1..8:y"), "O2046 `y` is no step of a range");
  EXPECT_EQ(refusal("1,,2"), "O2046 `1,,2` has an empty value");
}

TEST(Values, RandomRangesStayBetweenTheirEndsAndReachThem) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 5000; ++round) {
    const int first = static_cast<int>(dice() % 1000), step = 1 + static_cast<int>(dice() % 20);
    const int count = 1 + static_cast<int>(dice() % 50),
              last = first + step * (count - 1) + static_cast<int>(dice() % step);
    const auto found = values(std::to_string(first) + ".." + std::to_string(last) + ":" + std::to_string(step));
    ASSERT_EQ(found.size(), count);
    for (int i = 0; i < count; ++i) ASSERT_EQ(found[i], std::to_string(first + i * step));
  }
}

TEST(Study, PointsAreTheProductEachOnce) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 300; ++round) {
    Study study;
    Point expected = 1;
    for (int g = 1 + static_cast<int>(dice() % 4); g > 0; --g) {
      Group group;
      const int size = 1 + static_cast<int>(dice() % 5);
      expected *= static_cast<Point>(size);
      for (int a = 1 + static_cast<int>(dice() % 3); a > 0; --a) {
        Axis axis{"f" + std::to_string(g) + "." + std::to_string(a), {}, {}};
        for (int v = 0; v < size; ++v) axis.values.push_back(std::to_string(v));
        group.axes.push_back(axis);
      }
      study.groups.push_back(group);
    }
    ASSERT_EQ(study.points(), expected);
    std::set<std::string> seen;
    for (Point point = 0; point < expected; ++point) {
      std::string all;
      std::size_t at = 0;
      const base::Overrides set = study.at(point);
      for (const Group& group : study.groups)
        for (std::size_t a = 0; a < group.axes.size(); ++a, ++at) {
          ASSERT_EQ(set[at].path, group.axes[a].path);
          ASSERT_EQ(set[at].value, set[at - a].value) << "fields of a group go side by side";
          all += set[at].value + ",";
        }
      seen.insert(all);
    }
    ASSERT_EQ(seen.size(), expected);
  }
}

TEST(Study, ADocumentSaysWhatTheCommandLineSays) {
  const Study study = study_from(R"(study:
  version: 1
  title: memories
  base: {chip: gemmini, gemm: "64,64,64", logits: true, joint: false}
  vary:
    arch.Scratchpad.depth: 16Ki..64Ki:x2
    seq: [128, "256"]
  where: [depth >= 32768]
  budgets: {area: 4e6}
  objectives: [edp, energy]
)");
  EXPECT_EQ(study.arguments, (std::vector<std::string>{"--chip=gemmini", "--gemm=64,64,64", "--logits"}));
  EXPECT_EQ(study.points(), 6);
  EXPECT_EQ(study.at(5), (base::Overrides{{"arch.Scratchpad.depth", "65536"}, {"seq", "256"}}));
  EXPECT_FALSE(study.wanted(study.at(0)));
  EXPECT_TRUE(study.wanted(study.at(2)));
  EXPECT_EQ(study.objectives.size(), 2);
  const Study again = study_from(study_text(study));
  EXPECT_EQ(again.identity(), study.identity());
  EXPECT_EQ(again.asked(), study.asked());
}

TEST(Study, AListOfMapsGoesSideBySide) {
  const Study study = study_from("study:\n  vary:\n  - {a.x: [1, 2], a.y: [3, 4]}\n  - b.z: 1..3\n");
  EXPECT_EQ(study.points(), 6);
  EXPECT_EQ(study.at(4), (base::Overrides{{"a.x", "2"}, {"a.y", "4"}, {"b.z", "2"}}));
}

TEST(Study, EveryMistakeOfADocumentIsSaidAtOnce) {
  try {
    study_from(
        "study:\n  verion: 1\n  vary: {a.x: 1..}\n  objectives: [edpp]\n  budgets: {area: -1}\n  where: [y > 1]\n");
    FAIL();
  } catch (const base::InputError& error) {
    std::set<std::string> codes;
    for (const base::Diagnostic& one : error.diagnostics) codes.insert(one.code);
    EXPECT_EQ(codes, (std::set<std::string>{"O2045", "O2046", "O2049", "O2051"}));
    EXPECT_EQ(error.diagnostics.front().hints.front(), "did you mean `version`?");
  }
}

TEST(Filter, PathsAndTheirLastNamesStandForValues) {
  const std::vector<std::string> paths = {"arch.PERows.meshY", "arch.PECols.meshX", "seq"};
  const base::Overrides point = {{paths[0], "16"}, {paths[1], "32"}, {paths[2], "512"}};
  const auto keeps = [&](const std::string& text) { return Filter(text, place(text), paths).keeps(point); };
  EXPECT_TRUE(keeps("arch.PERows.meshY * arch.PECols.meshX <= 512"));
  EXPECT_FALSE(keeps("meshY * meshX > 512"));
  EXPECT_TRUE(keeps("seq == 512 and meshX != meshY"));
  EXPECT_THROW(keeps("meshZ > 1"), base::InputError);
  EXPECT_THROW(keeps("meshY >"), base::InputError);
}

}  // namespace
}  // namespace orrery::sweep
