// The register file as a driver sees it.
#include "orrery/engines/accelerator/units/registers.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace orrery::accelerator {
namespace {

std::uint32_t address(const char* name) {
  return register_named(name).address;
}

TEST(Registers, HaveAddressesOfTheirOwnInOrderAndTheirResetValues) {
  std::set<std::string> names;
  std::uint32_t next = 0;
  const RegisterFile file{Instance()};
  for (const RegisterInfo& one : registers()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_GE(one.address, next) << one.name;
    EXPECT_LT(one.address, kLengths);
    EXPECT_EQ(one.address % 4, 0U);
    EXPECT_TRUE(one.bits >= 1 && one.bits <= 32);
    next = one.address + 4;
    const bool built = one.address >= address("ROWS") && one.address <= address("KEYS_MOST");
    EXPECT_EQ(file.read(one.address), built ? file.at(one.name) : one.reset) << one.name;
  }
  EXPECT_EQ(file.at("ROWS"), 64U);
  EXPECT_EQ(file.at("PORTS"), 64U);
  EXPECT_EQ(file.at("PES"), 16U);
}

TEST(Registers, KeepTheBitsTheyHaveAndRefuseTheRest) {
  RegisterFile file{Instance()};
  for (const RegisterInfo& one : registers()) {
    if (one.access != Access::kWrite || one.address == address("CONTROL")) continue;
    file.write(one.address, 0xffffffffU);
    EXPECT_EQ(file.read(one.address), one.bits == 32 ? 0xffffffffU : (1U << static_cast<unsigned>(one.bits)) - 1);
  }
  EXPECT_EQ(file.at("STATUS"), 0U);
  const std::uint32_t rows = file.at("ROWS");
  file.write(address("ROWS"), 1);
  EXPECT_EQ(file.at("ROWS"), rows);
  EXPECT_EQ(file.at("STATUS"), kError);
  file.write(address("STATUS"), kError);
  EXPECT_EQ(file.at("STATUS"), 0U);
  file.write(0x3fc, 1);
  EXPECT_EQ(file.at("STATUS"), kError) << "no such address";
}

TEST(Registers, StartARunTellItsEndAndHoldWhatItCounted) {
  Instance instance;
  Work work;
  const masks::Mask mask({3, 2, 70, 80});
  work.shape = mask.shape(), work.depth = 64, work.scale = 0.125, work.mask = &mask;
  RegisterFile file(instance);
  program(file, instance, work, {});
  EXPECT_TRUE(file.started());
  EXPECT_EQ(file.at("CONTROL") & kStart, 0U);
  EXPECT_EQ(file.read(kLengths + 8), 70U | 80U << 16U);
  EXPECT_EQ(file.read(kLengths + 12), 0U);
  EXPECT_EQ(file.at("QUERY_MULTIPLIER"), 0x8000U);
  EXPECT_EQ(file.at("QUERY_POINT"), 13U);
  file.write(address("DEPTH"), 3);
  EXPECT_EQ(file.at("DEPTH"), 64U) << "not while it is busy";
  EXPECT_EQ(file.at("STATUS"), kBusy | kError);
  const Simulation run = simulate(instance, work);
  file.done(run);
  EXPECT_FALSE(file.started());
  EXPECT_FALSE(file.interrupt()) << "it is not enabled";
  EXPECT_EQ(file.at("CYCLES_LOW"), static_cast<std::uint32_t>(run.cycles));
  EXPECT_EQ(file.at("WAITING_LOW"), static_cast<std::uint32_t>(run.phases.waiting));
  file.write(address("CONTROL"), kInterrupts);
  EXPECT_TRUE(file.interrupt());
  file.write(address("STATUS"), kDone);
  EXPECT_FALSE(file.interrupt());
}

TEST(Registers, HoldThePredictorsNumbersToTheLastBit) {
  Instance instance;
  Work work;
  work.shape = {1, 1, 64, 64}, work.depth = 64, work.scale = 0.125;
  const std::vector<float> numbers(64 * 64, 1);
  work.query = work.key = work.value = numbers.data();
  for (const double threshold : {0.0, 1e-9, 0.002, 0.5}) {
    work.prediction = Prediction{threshold, true, {}, {}};
    base::Diagnostics found;
    const PredictionConstants written =
        prediction_constants(instance, sizes_of(work), true, 0.37, 0.61, threshold, found);
    RegisterFile file(instance);
    program(file, instance, work, written);
    const PredictionConstants read = constants_in(file, instance);
    EXPECT_EQ(read.threshold, written.threshold);
    EXPECT_EQ(read.score_shift, written.score_shift);
    for (const auto& [a, b] : {std::pair{read.query, written.query}, {read.key, written.key}}) {
      EXPECT_EQ(a.reciprocal, b.reciprocal);
      EXPECT_EQ(a.shift, b.shift);
      EXPECT_EQ(a.factor, b.factor);
      EXPECT_EQ(a.factor_shift, b.factor_shift);
      EXPECT_EQ(a.norm_bits, b.norm_bits);
      EXPECT_EQ(a.most, b.most);
    }
  }
}

}  // namespace
}  // namespace orrery::accelerator
