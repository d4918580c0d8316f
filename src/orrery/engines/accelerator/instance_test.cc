// Faults of instances: each by the input that has it, with its arithmetic.
#include "orrery/engines/accelerator/instance.h"

#include <gtest/gtest.h>

#include <functional>

#include "orrery/engines/accelerator/simulate.h"
#include "orrery/engines/accelerator/units/quantiser_constants.h"

namespace orrery::accelerator {
namespace {

Sizes usual() {
  Sizes sizes;
  sizes.queries = sizes.keys = 512, sizes.depth = 64, sizes.scale = 0.125, sizes.predicts = sizes.calculates = true;
  return sizes;
}

// Codes of all faults, and whether one of their notes holds the arithmetic.
void expect(const char* code, const char* arithmetic, const std::function<void(Instance&, Sizes&)>& change) {
  Instance instance;
  Sizes sizes = usual();
  change(instance, sizes);
  const base::Diagnostics found = faults(instance, sizes);
  ASSERT_TRUE(found.has_errors()) << arithmetic;
  bool told = false;
  for (const base::Diagnostic& one : found.all()) {
    EXPECT_FALSE(one.notes.empty() || one.hints.empty()) << one.message;
    for (const std::string& note : one.notes) told |= one.code == code && note.find(arithmetic) != std::string::npos;
  }
  EXPECT_TRUE(told) << code << " with " << arithmetic << "; found " << found.all().front().code << " "
                    << found.all().front().message << ": " << found.all().front().notes.front();
}

TEST(Instance, OfThePublishedShapeHasNoFaults) {
  EXPECT_FALSE(faults(Instance(), usual()).has_errors());
  Sizes large = usual();
  large.depth = 128, large.scale = 0.0883883, large.queries = large.keys = 4096;
  EXPECT_FALSE(faults(fitted(Instance(), large), large).has_errors());
}

TEST(Instance, IsToldWhichWidthOverflowsAndHow) {
  expect("O1890", "64 products of a scaled query up to 32 and a key up to 32", [](Instance& i, Sizes& s) {
    s.scale = 1;
    i.numbers.sum = {32, 16};
  });
  expect("O1890", "16 PEs, each with an exponential up to 1 and a value up to 4096", [](Instance& i, Sizes&) {
    i.numbers.value = {16, 3};
  });
  expect("O1890", "keys, each with an exponential up to 1 and a value up to 32", [](Instance& i, Sizes& s) {
    i.numbers.accumulator_bits = 32;
    s.keys = i.score_keys = 1024;
  });
  expect("O1890", "12 > 10", [](Instance& i, Sizes&) { i.numbers.sum = {32, 10}, i.numbers.key = {16, 12}; });
  expect("O1890", "allowed: above 0, at most 1", [](Instance&, Sizes& s) { s.scale = 0; });
  expect("O1890", "16 - 8 > 6", [](Instance& i, Sizes&) { i.numbers.score = {16, 8}; });
  expect("O1890", "2 to 20 bits", [](Instance& i, Sizes&) { i.numbers.query = {40, 10}; });
  expect("O1890", "32 to 44", [](Instance& i, Sizes&) { i.numbers.accumulator_bits = 50; });
}

TEST(Instance, IsToldOfShapesThatNoArrayHas) {
  expect("O1891", "16 > 8", [](Instance& i, Sizes&) { i.array.ports = 8; });
  expect("O1891", "allowed: 1 to 1024", [](Instance& i, Sizes&) { i.array.rows = 0; });
  expect("O1891", "allowed: 2, 4, 6, 8", [](Instance& i, Sizes&) { i.code_bits = 5; });
  expect("O1891", "128 > 64", [](Instance&, Sizes& s) { s.depth = 128; });
  expect("O1891", "allowed: 1 to 4096", [](Instance& i, Sizes&) { i.merge_lanes = 0; });
}

TEST(Instance, IsToldOfMemoriesThatNeverAnswer) {
  expect("O1892", "never end", [](Instance& i, Sizes&) { i.bandwidth = 0; });
  expect("O1892", "above 0", [](Instance& i, Sizes&) { i.frequency = 0; });
  expect("O1892", "allowed: 0 to", [](Instance& i, Sizes&) { i.latency = -1; });
  expect("O1892", "from 1e-3", [](Instance& i, Sizes&) { i.bandwidth = 1; });
  Instance endless;
  endless.bandwidth = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(faults(endless, usual()).has_errors());
  EXPECT_EQ(transfer_cycles(endless, 1'000'000), 1);
}

TEST(Instance, IsToldOfMasksThatItsMemoriesDoNotHold) {
  expect("O1893", "64 rows x 2000 keys x 16 bits", [](Instance&, Sizes& s) { s.keys = 2000; });
  expect("O1893", "the mask of 64 rows x 2000 keys", [](Instance&, Sizes& s) { s.keys = 2000, s.predicts = false; });
  expect("O1893", "may mix all 512 queries", [](Instance&, Sizes& s) { s.packed = true, s.predicts = false; });
}

TEST(Instance, IsToldOfAllFaultsAtOnce) {
  Instance instance;
  instance.bandwidth = 0, instance.array.pes = 65, instance.numbers.query = {1, 0};
  EXPECT_GE(faults(instance, usual()).all().size(), 3U);
}

TEST(QuantiserConstants, OfAThresholdThatGivesNoScaleAreO1894) {
  for (const double clip : {0.0, -1.0, 1e-9, 1e9, std::numeric_limits<double>::quiet_NaN()}) {
    base::Diagnostics found;
    prediction_constants(Instance(), usual(), true, clip, 0.5, 0.01, found);
    ASSERT_TRUE(found.has_errors()) << clip;
    EXPECT_EQ(found.all().front().code, "O1894");
  }
  base::Diagnostics found;
  const PredictionConstants c = prediction_constants(Instance(), usual(), true, 0.5, 0.5, 0.01, found);
  EXPECT_FALSE(found.has_errors());
  EXPECT_EQ(c.query.reciprocal, 14U << 12);
  EXPECT_EQ(c.query.shift, 12);
}

TEST(Widths, OfThePublishedShape) {
  const Widths w = widths(Instance());
  EXPECT_EQ(w.code_sum, 14) << "64 products of 15 and 15";
  EXPECT_EQ(w.norm, 23);
  EXPECT_EQ(w.multiplier_a, 18);
  EXPECT_EQ(w.multiplier_b, 16);
  EXPECT_EQ(w.query_number, 6);
  EXPECT_EQ(w.key_number, 10);
}

TEST(ScaledPoint, AddsTheZerosOfTheScale) {
  Instance instance;
  EXPECT_EQ(scaled_point(instance, 1), 10);
  EXPECT_EQ(scaled_point(instance, 0.125), 13);
  EXPECT_EQ(scaled_point(instance, 0.0883883), 13);
  EXPECT_EQ(scaled_point(instance, 1e-9), 16);
}

}  // namespace
}  // namespace orrery::accelerator
