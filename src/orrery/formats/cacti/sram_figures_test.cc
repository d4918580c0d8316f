// Figures of memories that ERTs of Accelergy with CACTI hold, and of the chips that users have.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/energy/sram/sram.h"
#include "orrery/formats/cacti/sram_points_test_util.h"

namespace orrery::formats::cacti {
namespace {

using base::Count;
using energy::Answer, energy::Attributes, energy::Figure, energy::Query, energy::Refusal;

const energy::Estimator& sram() {
  static const energy::Sram estimator("sram", energy::kSramAccuracyPercent, energy::surface_model(catalogue_surfaces()),
                                      catalogue_errors());
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
}

// CACTI's own six digits.
void expect_exact(const Attributes& attributes) {
  for (const char* action : {"read", "write", "leak", ""}) {
    EXPECT_EQ(figure(attributes, action).expected_error_percent, 0.0005) << action;
    EXPECT_EQ(figure(attributes, action).basis, energy::Basis::kModelled) << action;
  }
}

TEST(SramFigures, TheGemminiScratchpadIsARowOfTheTable) {
  expect_figures(memory(128, 32768, 4), 57.039, 54.0501, 0.0274069, 901693);
  expect_exact(memory(128, 32768, 4));
  EXPECT_EQ(figure(memory(128, 32768, 4), "read").source,
            "CACTI 7, a row of the table: 32 nm, 512 KiB, 128 bit, 4 banks");
}

TEST(SramFigures, TheGemminiAccumulatorIsARowOfTheTable) {
  expect_figures(memory(32, 4096, 2), 4.54186, 3.49104, 0.00100326, 29675.5);
  expect_exact(memory(32, 4096, 2));
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

TEST(SramFigures, ARowThatARuleScalesIsNotCalledExact) {
  const auto error = [](const Attributes& attributes) { return figure(attributes, "read").expected_error_percent; };
  EXPECT_GT(error(memory(8, 1, 1)), 100);            // six octaves below 64 words, two below 32 bit
  EXPECT_GT(error(memory(8, 1024, 1)), 30);          // CACTI's own memory of 8 bit takes less
  EXPECT_GT(error(memory(16, 1024, 1)), 20);         // and of 16 bit
  EXPECT_GT(error(memory(24, 1024, 1)), 10);         // and of 24 bit
  EXPECT_GT(error(memory(1, 1024, 1)), 80);          // no memory of CACTI's is as narrow
  EXPECT_GT(error(memory(32, 1024, 3)), 3);          // as one of 4 banks
  EXPECT_GT(error(memory(32, 4096, 2, "28nm")), 3);  // between two nodes
  EXPECT_GT(error(memory(32, 4096, 2, "7nm")), 30);  // by a rule that nobody has checked
  EXPECT_LT(error(memory(31, 1024, 1)), error(memory(24, 1024, 1)).value() + 1e-9);
  EXPECT_LT(error(memory(4, 1024, 1)), error(memory(1, 1024, 1)));
}

TEST(SramFigures, WhatLiesBeyondTheTableIsExtrapolatedAndSaysWhichBoundByHowMuch) {
  const auto beyond = [](const Attributes& attributes) { return figure(attributes, "read").beyond; };
  using Bounds = std::vector<std::string>;
  EXPECT_EQ(beyond(memory(1, 1024, 1)),
            Bounds{"1 bit is below the 8 bit of the narrowest word that CACTI builds, by a factor of 8"});
  EXPECT_EQ(beyond(memory(32, 64, 2)),
            Bounds{"64 words in 2 banks (which `n_banks` is where it is not given) are below the 64 a bank of the "
                   "smallest memory in the table, by a factor of 2"});
  EXPECT_EQ(beyond(memory(32, 16, 1)),
            Bounds{"16 words in 1 bank are below the 64 a bank of the smallest memory in the table, by a factor of 4"});
  EXPECT_EQ(
      beyond(memory(32, 128, 8)),
      Bounds{"128 words in 8 banks are below the 64 a bank of the smallest memory in the table, by a factor of 4"});
  EXPECT_EQ(beyond(memory(32, 1024, 1, "7nm")), Bounds{"7 nm is below CACTI's 22 nm, by a factor of 3.14"});
  EXPECT_EQ(beyond(memory(32, 1024, 1, "130nm")), Bounds{"130 nm is above CACTI's 90 nm, by a factor of 1.44"});
  EXPECT_EQ(beyond(memory(4096, 1024, 1)),
            Bounds{"4096 bit is above the 2048 bit of the widest word in the table, by a factor of 2"});
  EXPECT_EQ(beyond(memory(1, 1, 1, "5nm")).size(), 3u);
  for (const auto& within : {memory(8, 64, 1), memory(2048, 64, 1), memory(32, 512, 8), memory(64, 4096, 1, "28nm")})
    EXPECT_TRUE(beyond(within).empty());
  for (const char* action : {"read", "write", "leak", ""})
    EXPECT_EQ(figure(memory(1, 1024, 1), action).basis, energy::Basis::kExtrapolated) << action;
}

TEST(SramFigures, BelowAndAboveCactisNodesTheRuleIsNamed) {
  EXPECT_EQ(figure(memory(32, 1024, 1, "7nm"), "read").node_rule,
            "linear below CACTI's 22 nm: x 7/22, leakage x 0.79 besides, as Accelergy's CACTI plug-in, not Stillmaker "
            "and Baas");
  EXPECT_NE(figure(memory(32, 1024, 1, "7nm"), "read").source.find("technology linear below"), std::string::npos);
  EXPECT_EQ(figure(memory(32, 1024, 1, "130nm"), "read").node_rule,
            "square above CACTI's 90 nm: x (130/90)^2, as Accelergy's CACTI plug-in, not Stillmaker and Baas");
  EXPECT_EQ(figure(memory(32, 1024, 1, "28nm"), "read").node_rule, "linear between CACTI's 22 and 32 nm");
  EXPECT_EQ(figure(memory(32, 1024, 1, "28nm"), "read").basis, energy::Basis::kInterpolated);
  EXPECT_EQ(figure(memory(32, 1024, 1), "read").node_rule, "");
}

// A word of 520 bit was taken for two of 260 from 8 banks on, at 40 % less than one of 512.
TEST(SramFigures, AWiderWordCostsMoreAcross512BitWithAnyNumberOfBanks) {
  for (const Count banks : {1, 2, 4, 8, 16, 32}) {
    for (const Count words : {4096, 16384}) {
      for (const char* node : {"22nm", "45nm", "90nm"}) {
        const auto read = [&](Count width) {
          return figure(memory(width, words * (banks > 4 ? 2 : 1), banks, node), "read").value;
        };
        const double step = read(520) / read(512);
        EXPECT_GT(step, 1) << banks << " banks, " << words << " words, " << node;
        EXPECT_LT(step, 1.12) << banks << " banks, " << words << " words, " << node;
        EXPECT_GT(read(1024), read(520)) << banks << " banks, " << words << " words, " << node;
        EXPECT_GT(read(2048), read(1024)) << banks << " banks, " << words << " words, " << node;
      }
    }
  }
}

// 429056 B at 22 nm in words of 2048 bit: CACTI's area is 0.350096 mm^2, a read 140.609 pJ.
TEST(SramFigures, AWideMemoryBetweenSparseRowsHasTheAreaOfCactisOrganisation) {
  EXPECT_NEAR(figure(memory(2048, 1676, 1, "22nm"), "").value, 350096, 0.02 * 350096);
  EXPECT_NEAR(figure(memory(2048, 1676, 1, "22nm"), "read").value, 140.609, 0.02 * 140.609);
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
  EXPECT_GT(found.expected_error_percent.value(), 0.1);
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
  EXPECT_EQ(wide.basis, energy::Basis::kExtrapolated);
  EXPECT_NE(wide.source.find("2 memories of 2048 bit assumed side by side"), std::string::npos) << wide.source;
  EXPECT_GT(wide.expected_error_percent.value(), 40);
  const Answer widest = ask(memory(1000000, 1024, 1), "read");
  ASSERT_TRUE(std::holds_alternative<Refusal>(widest));
  EXPECT_EQ(std::get<Refusal>(widest).reason,
            "has words of 8 to 2048 bit and takes up to 8 memories side by side, 16384 bit; this needs 1000000 bit");
  EXPECT_NE(std::get<Refusal>(widest).way_out, "");
}

}  // namespace
}  // namespace orrery::formats::cacti
