// Figures of memories that ERTs of Accelergy with CACTI hold, and of the chips that users have.
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/energy/estimate.h"
#include "orrery/energy/sram.h"
#include "orrery/formats/cacti/sram_table.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

using base::Count;
using energy::Answer, energy::Attributes, energy::Figure, energy::Query, energy::Refusal;

const energy::Estimator& sram() {
  static const energy::Sram estimator(
      "sram", energy::kSramAccuracyPercent,
      energy::surface_model(sram_surfaces(yaml::read_file(ORRERY_SOURCE_DIR "/catalog/tables/sram_cacti7.csv"))));
  return estimator;
}

Attributes memory(Count width, Count depth, Count banks, std::string technology = "32nm") {
  return {{"technology", technology}, {"width", width},     {"depth", depth},
          {"n_banks", banks},         {"n_rdwr_ports", 2L}, {"global_cycle_seconds", 1.2e-9}};
}

Answer ask(const Attributes& attributes, std::string_view action) {
  return sram().estimate({"SRAM", attributes, action, {}});
}

Figure figure(const Attributes& attributes, std::string_view action) {
  const Answer answer = ask(attributes, action);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) ADD_FAILURE() << refusal->reason;
  return std::holds_alternative<Figure>(answer) ? std::get<Figure>(answer) : Figure{};
}

// To five digits: the ERTs round what CACTI rounded.
void expect_figures(const Attributes& attributes, double read, double write, double leak, double area) {
  const auto near = [](double ours, double theirs) { EXPECT_NEAR(ours / theirs, 1, 1e-5) << ours << " " << theirs; };
  near(figure(attributes, "read").value, read);
  near(figure(attributes, "write").value, write);
  near(figure(attributes, "update").value, write);
  near(figure(attributes, "leak").value, leak);
  near(figure(attributes, "").value, area);
  EXPECT_EQ(figure(attributes, "read").expected_error_percent, 0.0);
}

TEST(SramFigures, TheGemminiScratchpadIsARowOfTheTable) {
  expect_figures(memory(128, 32768, 4), 57.039, 54.0501, 0.0274069, 901693);
  EXPECT_EQ(figure(memory(128, 32768, 4), "read").source,
            "CACTI 7, a row of the table: 32 nm, 512 KiB, 128 bit, 4 banks");
}

TEST(SramFigures, TheGemminiAccumulatorIsARowOfTheTable) {
  expect_figures(memory(32, 4096, 2), 4.54186, 3.49104, 0.00100326, 29675.5);
}

TEST(SramFigures, TheAccumulatorOfNormalisationsHas32Banks) {
  expect_figures(memory(32, 65536, 32), 14.7046, 13.6538, 0.0176953, 472741);
}

TEST(SramFigures, TheSharedBufferOfPimIsARowOfTheTable) {
  expect_figures(memory(128, 16384, 4), 43.8762, 40.8873, 0.0138269, 424389);
}

TEST(SramFigures, ARegisterOfOneByteIsScaledFromTheLeastMemory) {
  expect_figures(memory(8, 1, 1), 0.00649104, 0.0109044, 1.0574e-7, 2.09537);
  EXPECT_EQ(figure(memory(8, 1, 1), "read").source,
            "CACTI 7, a row of the table: 32 nm, 256 B, 32 bit; scaled to 1 words of 8 bit");
}

TEST(SramFigures, EveryMemoryOfTheUsersChipsHasFigures) {
  struct Named {
    const char* name;
    Attributes attributes;
  };
  for (const auto& [name, attributes] :
       {Named{"eyeriss shared_glb", memory(64, 16384, 32)}, Named{"realistic Scratchpad", memory(128, 16384, 4)},
        Named{"realistic Accumulator", memory(32, 16384, 1)}, Named{"NOs Registers", memory(8, 3, 1)},
        Named{"NOs Registers_Outputs", memory(8, 1024, 1)}, Named{"simba GlobalBuffer", memory(256, 2048, 4, "45nm")},
        Named{"tpu UnifiedBuffer", memory(128, 24 * 65536, 4, "28nm")},
        Named{"tpu WeightsFIFO", memory(128, 16384, 4, "28nm")}, Named{"tpu Accumulator", memory(32, 2048, 2, "28nm")},
        Named{"tpu Registers", memory(8, 2, 1, "28nm")}}) {
    for (const char* action : {"read", "write", "update", "leak", ""}) {
      const Figure found = figure(attributes, action);
      EXPECT_GT(found.value, 0) << name << " " << action;
      EXPECT_TRUE(found.expected_error_percent.has_value());
      EXPECT_EQ(found.accuracy_percent, 80);
    }
  }
}

TEST(SramFigures, BetweenRowsTheErrorToExpectIsStated) {
  const Figure found = figure(memory(128, 3000, 1), "read");
  EXPECT_EQ(found.basis, energy::Basis::kInterpolated);
  EXPECT_GT(found.expected_error_percent.value(), 0.5);
  EXPECT_LT(found.expected_error_percent.value(), 4);
  EXPECT_NE(found.source.find("between rows of the table with"), std::string::npos) << found.source;
}

TEST(SramFigures, TwoPortsAreKnownWithOneBank) {
  Attributes two = memory(64, 1024, 1);
  two["n_rw_ports"] = 2L;
  EXPECT_NEAR(figure(two, "read").value / figure(memory(64, 1024, 1), "read").value, 1.4, 0.4);
  two["depth"] = 1500L;
  EXPECT_GT(figure(two, "read").expected_error_percent.value(), 3);
  two["n_banks"] = 2L;
  EXPECT_TRUE(std::holds_alternative<Refusal>(ask(two, "read")));
}

TEST(SramFigures, WhatTheTableDoesNotCoverIsRefusedWithItsRange) {
  const auto reason = [](const Attributes& attributes) {
    const Answer answer = ask(attributes, "read");
    return std::holds_alternative<Refusal>(answer) ? std::get<Refusal>(answer).reason : "answered";
  };
  EXPECT_EQ(reason(memory(64, 1 << 28, 1)),
            "has figures of 256 B to 64 MiB, 8 to 2048 bit wide; this needs 2048 MiB, 64 bit");
  EXPECT_EQ(reason(memory(64, 1 << 16, 64)),
            "has figures of 1, 2, 4 up to 32 banks with one port and of 1 bank with two; this needs 512 KiB, 64 bit, "
            "64 banks");
}

TEST(SramFigures, WordsTooWideForTheTableAreSeveralMemoriesSideBySide) {
  const Figure wide = figure(memory(4096, 1024, 1), "read"), half = figure(memory(2048, 1024, 1), "read");
  EXPECT_DOUBLE_EQ(wide.value, 2 * half.value);
  EXPECT_EQ(wide.basis, energy::Basis::kAssumed);
  EXPECT_NE(wide.source.find("2 memories of 2048 bit assumed side by side"), std::string::npos) << wide.source;
  EXPECT_GT(wide.expected_error_percent.value(), 5);
}

}  // namespace
}  // namespace orrery::formats::cacti
