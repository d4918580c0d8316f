#include "orrery/describe/energy/sram/sram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "orrery/describe/energy/sram/sram_organisation.h"

namespace orrery::energy {
namespace {

using base::Count;

// Figures that tell technology, width and capacity: read = nm, write = 2 nm, leakage = 3 nm, area = 4 nm.
std::variant<SramAnswer, Refusal> ruler(int technology_nm, const SramPoint&) {
  SramAnswer answer;
  for (std::size_t i = 0; i < answer.figures.size(); ++i)
    answer.figures[i] = technology_nm * static_cast<double>(i + 1);
  answer.how = "a ruler";
  return answer;
}

Attributes memory(Count width, Count depth, Count banks = 1, Value technology = std::string("32nm")) {
  return {{"technology", std::move(technology)},
          {"width", width},
          {"depth", depth},
          {"n_banks", banks},
          {"global_cycle_seconds", 1e-9}};
}

Answer ask(const Attributes& attributes, std::string_view action, const Attributes& arguments = {}) {
  return Sram("sram", 80, ruler, nullptr).estimate({"SRAM", attributes, action, arguments});
}

double value(const Attributes& attributes, std::string_view action, const Attributes& arguments = {}) {
  const Answer answer = ask(attributes, action, arguments);
  EXPECT_TRUE(std::holds_alternative<Figure>(answer));
  return std::holds_alternative<Figure>(answer) ? std::get<Figure>(answer).value : -1;
}

std::string refusal(const Attributes& attributes, std::string_view action, const Attributes& arguments = {}) {
  const Answer answer = ask(attributes, action, arguments);
  return std::holds_alternative<Refusal>(answer) ? std::get<Refusal>(answer).reason : "answered";
}

TEST(SramRules, AMemoryIsAskedForAsTheLeastThatCactiBuilds) {
  EXPECT_EQ(request({32, 33, 1000, 3, 1}).point, (SramPoint{5000, 40, 4, 1}));
  EXPECT_EQ(request({32, 8, 1, 1, 1}).point, (SramPoint{256, 32, 1, 1}));
  EXPECT_EQ(request({32, 128, 100, 8, 2}).point, (SramPoint{512 * 16, 128, 8, 2}));
}

TEST(SramRules, FiguresAreScaledBackToTheMemory) {
  const SramFigures scale = request({32, 8, 16, 1, 1}).scale;  // a quarter of the width, a quarter of the depth
  EXPECT_DOUBLE_EQ(scale[kRead], (0.7 * 0.25 + 0.3) * std::pow(0.25, 0.78));
  EXPECT_DOUBLE_EQ(scale[kWrite], scale[kRead]);
  EXPECT_DOUBLE_EQ(scale[kLeak], 0.0625);
  EXPECT_DOUBLE_EQ(scale[kArea], 0.0625);
}

TEST(SramRules, LeakageIsThatOfTheBanksThereAre) {
  EXPECT_DOUBLE_EQ(request({32, 64, 4096, 3, 1}).scale[kLeak], 0.75);
  EXPECT_DOUBLE_EQ(request({32, 64, 4096, 3, 1}).scale[kArea], 1);
}

TEST(Sram, FiguresAreLinearBetweenTwoTechnologies) {
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, std::string("28nm")), "read"), 28);
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{50}), "write"), 100);
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, std::string("90 nm")), "read"), 90);
}

TEST(Sram, Below22NanometresFiguresShrinkLinearlyAndLeakageMore) {
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{11}), "read"), 22 * 0.5);
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{11}), ""), 1e6 * 88 * 0.5);
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{11}), "leak"), 66 * 0.5 * 0.79);
}

TEST(Sram, Above90NanometresFiguresGrowBySquares) {
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{180}), "read"), 90 * 4);
  EXPECT_DOUBLE_EQ(value(memory(64, 1024, 1, Count{180}), "leak"), 270 * 4);
}

RC_GTEST_PROP(Sram, TechnologyMovesFiguresWithoutJumps, ()) {
  const double nm = *rc::gen::inRange(500, 15000) / 100.0;
  for (const char* action : {"read", "write", ""}) {
    const double low = value(memory(64, 1024, 1, nm), action), high = value(memory(64, 1024, 1, nm + 0.01), action);
    RC_ASSERT(high > low);
    RC_ASSERT(high < low * 1.01);
  }
}

TEST(Sram, AnAccessIsSevenTenthsDataAndThreeTenthsAddress) {
  const Attributes one = memory(64, 1024);
  EXPECT_DOUBLE_EQ(value(one, "read"), 32);
  EXPECT_DOUBLE_EQ(value(one, "read", {{"data_delta", Count{0}}}), 0.3 * 32);
  EXPECT_DOUBLE_EQ(value(one, "update", {{"address_delta", Count{0}}}), 0.7 * 64);
  EXPECT_DOUBLE_EQ(value(one, "read", {{"address_delta", Count{0}}, {"data_delta", Count{0}}}), 0);
}

TEST(Sram, LeakageIsPowerTimesTheCycle) {
  EXPECT_DOUBLE_EQ(value(memory(64, 1024), "leak"), 96);  // 96 mW for 1 ns: 96 pJ
  EXPECT_DOUBLE_EQ(value(memory(64, 1024), "leak", {{"global_cycle_seconds", 2e-9}}), 192);
}

TEST(Sram, WhatCannotBeEstimatedSaysWhy) {
  const auto without = [](const char* name) {
    Attributes attributes = memory(64, 1024);
    attributes.erase(name);
    return attributes;
  };
  const auto with = [](const char* name, Value given) {
    Attributes attributes = memory(64, 1024);
    attributes[name] = std::move(given);
    return attributes;
  };
  EXPECT_EQ(refusal(without("technology"), "read"), "needs attribute `technology`, such as 32nm");
  EXPECT_EQ(refusal(without("width"), "read"), "needs attribute `width`");
  EXPECT_EQ(refusal(without("global_cycle_seconds"), "leak"), "needs attribute `global_cycle_seconds` for leakage");
  EXPECT_EQ(refusal(with("technology", std::string("free")), "read"), "`technology` is not a length, but `free`");
  EXPECT_EQ(refusal(with("depth", Count{0}), "read"), "answered") << "what has no words costs nothing";
  EXPECT_EQ(refusal(with("width", std::string("wide")), "read"), "`width` is not a number, but `wide`");
  EXPECT_EQ(refusal(with("n_rw_ports", 1.5), "read"), "`n_rw_ports` is 1.5, not a whole number");
  EXPECT_EQ(refusal(with("depth", 1e30), "read"), "1e+30 words of 64 bit in 1 banks are larger than any SRAM");
  EXPECT_EQ(refusal(with("technology", Count{1}), "read"),
            "`technology` is 1 nm; CACTI knows 22 to 90 nm, and its figures are scaled to 2 to 250 nm at most");
  EXPECT_EQ(refusal(with("technology", Count{1000}), "read"),
            "`technology` is 1000 nm; CACTI knows 22 to 90 nm, and its figures are scaled to 2 to 250 nm at most");
  EXPECT_EQ(refusal(memory(64, 1024), "doze"), "knows read, write, update and leak of an SRAM, not `doze`");
  EXPECT_EQ(refusal(memory(64, 1024), "read", {{"data_delta", std::string("x")}}),
            "argument `data_delta` is not a number, but `x`");
}

TEST(Sram, WithoutAMeasuredErrorNoneIsStated) {
  const auto figure = std::get<Figure>(ask(memory(64, 1024), "read"));
  EXPECT_FALSE(figure.expected_error_percent);
  const SramErrors only_printed({{SramErrorKind::kPrinted, 0, 0, 0, 0, 1, {1, 2, 3, 4, 0}}});
  const SramDescription exact{32, 64, 1024, 1, 1}, mixed{28, 64, 1024, 1, 1};
  EXPECT_EQ(only_printed.expected_percent(exact, request(exact), {{}}), (SramFigures{1, 2, 3, 4, 0}));
  EXPECT_FALSE(only_printed.expected_percent(mixed, request(mixed), {{}, {}}));
}

TEST(Sram, ErrorsWithinAreTheLargestThatAppliesAndThoseBeyondAreAdded) {
  const SramErrors errors({{SramErrorKind::kPrinted, 0, 0, 0, 0, 1, {1, 1, 1, 1, 0}},
                           {SramErrorKind::kRows, 0, 64, 4096, 1, 1, {2, 9, 2, 2, 0}},
                           {SramErrorKind::kRows, 0, 64, 1 << 20, 4, 1, {5, 5, 5, 5, 0}},
                           {SramErrorKind::kNode, 32, 0, 0, 0, 1, {3, 3, 3, 3, 0}},
                           {SramErrorKind::kNarrow, 0, 8, 0, 0, 1, {20, 20, 20, 20, 0}},
                           {SramErrorKind::kShallow, 0, 0, 0, 0, 1, {10, 10, 10, 10, 0}}});
  const auto expected = [&](const SramDescription& memory, SramOrigin origin) {
    return errors.expected_percent(memory, request(memory), {{origin, 1}}).value();
  };
  EXPECT_EQ(expected({32, 64, 128, 1, 1}, SramOrigin::kTable), (SramFigures{1, 1, 1, 1, 0}));
  EXPECT_EQ(expected({32, 64, 128, 1, 1}, SramOrigin::kOrganisation), (SramFigures{3, 9, 3, 3, 0}));
  EXPECT_EQ(expected({32, 64, 1024, 1, 1}, SramOrigin::kOrganisation), (SramFigures{5, 5, 5, 5, 0}));
  EXPECT_EQ(expected({32, 8, 128, 1, 1}, SramOrigin::kTable), (SramFigures{20, 20, 20, 20, 0}));
  EXPECT_EQ(expected({32, 4, 128, 1, 1}, SramOrigin::kTable), (SramFigures{30, 30, 30, 30, 0}));  // 3 octaves, not 2
  EXPECT_EQ(expected({32, 64, 48, 1, 1}, SramOrigin::kTable), (SramFigures{11, 11, 11, 11, 0}));
  EXPECT_EQ(expected({32, 64, 8, 1, 1}, SramOrigin::kTable), (SramFigures{31, 31, 31, 31, 0}));  // 3 octaves
}

TEST(Sram, OtherClassesAreNoneOfItsOwn) {
  const Sram sram("sram", 80, ruler, nullptr);
  const Attributes none;
  EXPECT_EQ(sram.accuracy({"SRAM", none, "read", none}), 80);
  EXPECT_FALSE(sram.accuracy({"DRAM", none, "read", none}));
}

TEST(SramOrganisation, AWidthOfOddFactorsLeavesFewSplits) {
  // 88 = 8 * 11 bit: 4 x 176 / 8 = 88 bits a mat, one mat serves an access.
  EXPECT_EQ(subarray({4, 2, 2, 8}, {22737, 88, 2, 1}).value().active_mats, 1);
  EXPECT_EQ(subarray({4, 2, 2, 8}, {22737, 88, 2, 1}).value().rows, 130);
  // 200 bit in 8 mats: 4 x 100 / 16 = 25 bits a mat are 8 mats; 4 x 100 / 32 truncates to 12, 16 mats.
  EXPECT_EQ(subarray({8, 16, 4, 16}, {22737, 200, 1, 1}).value().active_mats, 8);
  EXPECT_FALSE(subarray({8, 16, 4, 32}, {22737, 200, 1, 1}));
}

TEST(SramOrganisation, TooFewRowsAreNone) {
  EXPECT_TRUE(subarray({1, 2, 2, 2}, {256, 64, 1, 1}));   // 32 words: 16 rows
  EXPECT_FALSE(subarray({1, 2, 2, 2}, {240, 64, 1, 1}));  // 30 words: 15 rows
  EXPECT_FALSE(subarray({}, {256, 64, 1, 1}));
}

}  // namespace
}  // namespace orrery::energy
