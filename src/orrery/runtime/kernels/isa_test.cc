#include "orrery/runtime/kernels/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/kernels/choice.h"
#include "orrery/runtime/kernels/level_test_util.h"
#include "orrery/runtime/kernels/probe.h"

namespace orrery::kernels {
namespace {

// Sets ORRERY_ISA for a scope.
class Wanted {
 public:
  explicit Wanted(const char* name) {
    if (const char* old = std::getenv("ORRERY_ISA")) old_ = old, was_set_ = true;
    name == nullptr ? unsetenv("ORRERY_ISA") : setenv("ORRERY_ISA", name, 1);
  }
  ~Wanted() { was_set_ ? setenv("ORRERY_ISA", old_.c_str(), 1) : unsetenv("ORRERY_ISA"); }
  Wanted(const Wanted&) = delete;
  Wanted& operator=(const Wanted&) = delete;

 private:
  std::string old_;
  bool was_set_ = false;
};

std::string code_of(std::string_view wanted, const std::vector<Level>& present) {
  try {
    level_for(wanted, present);
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code;
  }
  return "none";
}

TEST(Levels, BeginWithThePortableOneAndEachHasItsTable) {
  const std::vector<Level> all = levels();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), Level::kPortable);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const Level level : all) {
    ASSERT_NE(table_of(level), nullptr);
    EXPECT_EQ(table_of(level)->level, level);
    EXPECT_EQ(level_named(name_of(level)), level);
  }
}

TEST(Levels, AreChosenByOrreryIsaOrElseTheHighest) {
  const std::vector<Level> all = levels();
  for (const Level level : all) {
    const Wanted wanted(std::string(name_of(level)).c_str());
    EXPECT_EQ(chosen_level(), level);
  }
  const Wanted none(nullptr);
  EXPECT_EQ(chosen_level(), all.back());
}

TEST(Levels, ThatAreUnknownOrMissingAreRefused) {
  EXPECT_EQ(code_of("avx2", {Level::kPortable, Level::kAvx2}), "none");
  EXPECT_EQ(code_of("sse9", {Level::kPortable, Level::kAvx2}), "O1501");
  EXPECT_EQ(code_of("avx512", {Level::kPortable, Level::kAvx2}), "O1502");
  EXPECT_EQ(code_of("amx", {Level::kPortable, Level::kAvx2}), "O1502");
  EXPECT_EQ(code_of("amx_emulated", {Level::kPortable}), "none");  // runs everywhere, but never by itself
  const std::vector<Level> all = levels();
  EXPECT_EQ(std::find(all.begin(), all.end(), Level::kAmxEmulated), all.end());
  const Wanted wanted("AVX2");
  EXPECT_THROW(chosen_level(), base::InputError);
}

TEST(Probe, MeasuresRatesThatGrowWithTheWidthOfVectors) {
  double portable = 0;
  for (const Level level : levels()) {
    const double rate = operations_per_second(*table_of(level), Arithmetic::kF32, 1e-3);
    EXPECT_GT(rate, 1e8);
    if (level == Level::kPortable) portable = rate;
    // Twice the lanes and fused multiply-add: more than the portable loop even on a busy machine.
    EXPECT_GE(rate, portable) << name_of(level);
  }
  const Bandwidth found = bandwidth(std::size_t{4} << 20, 2);
  EXPECT_GT(found.read, 1e7);
  EXPECT_GT(found.copy, 1e7);
  EXPECT_GT(found.triad, 1e7);
}

TEST(Choices, AreTheFasterWayAndStayForTheProcess) {
  for (const Level level : testing::all_levels()) {
    const Choice& choice = choice_at(level);
    EXPECT_EQ(&choice, &choice_at(level));
    const ProductKernels* kernels = table_of(level)->product;
    for (const Arithmetic a : {choice.fp32, choice.bf16, choice.bf16_lanes}) {
      EXPECT_NE(kernels[static_cast<int>(a)].elements, 0) << name_of(level);
    }
    EXPECT_NE(kernels[static_cast<int>(choice.bf16_lanes)].block_narrow, nullptr) << name_of(level);
    if (level == Level::kAmxEmulated) {
      EXPECT_EQ(choice.fp32, Arithmetic::kF32Tiles);
      EXPECT_EQ(choice.bf16, Arithmetic::kBf16Tiles);
      continue;
    }
    for (const Arithmetic other : {Arithmetic::kBf16Wide, Arithmetic::kBf16Dot, Arithmetic::kBf16Tiles}) {
      EXPECT_GE(choice.rate[static_cast<int>(choice.bf16)], choice.rate[static_cast<int>(other)]) << name_of(level);
    }
    EXPECT_EQ(described(level).find(std::string(name_of(level)) + ": "), 0U);
  }
}

}  // namespace
}  // namespace orrery::kernels
