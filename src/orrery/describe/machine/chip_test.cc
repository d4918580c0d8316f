#include "orrery/describe/machine/chip.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::machine {
namespace {

// One DRAM over four register files, each with one multiplier.
Chip sound_chip() {
  Chip chip;
  Storage registers;
  registers.name = "Registers";
  registers.instances = registers.mesh_y = 4;
  registers.capacity_words = 9;
  Storage dram;
  dram.name = "DRAM";
  chip.storages = {registers, dram};
  chip.compute.name = "MAC";
  chip.compute.instances = chip.compute.mesh_y = 4;
  return chip;
}

base::Codes codes_of(const Chip& chip) {
  base::Diagnostics found;
  check(chip, found);
  return base::codes(found.all());
}

using base::Codes;

TEST(ChipCheck, HasNothingToSayAboutASoundChip) {
  EXPECT_EQ(codes_of(sound_chip()), Codes{});
}

TEST(ChipCheck, RefusesAFanOutThatIsNoWholeNumber) {
  Chip chip = sound_chip();
  chip.compute.instances = chip.compute.mesh_y = 6;
  EXPECT_EQ(codes_of(chip), Codes{"O0310"});
}

TEST(ChipCheck, RefusesAChipWithoutStorage) {
  Chip chip = sound_chip();
  chip.storages.clear();
  EXPECT_EQ(codes_of(chip), Codes{"O0311"});
}

TEST(ChipCheck, RefusesAChipWithoutCompute) {
  Chip chip = sound_chip();
  chip.compute.name.clear();
  EXPECT_EQ(codes_of(chip), Codes{"O0312"});
}

TEST(ChipCheck, RefusesALevelWithoutInstances) {
  Chip chip = sound_chip();
  chip.storages[1].instances = chip.storages[1].mesh_x = 0;
  EXPECT_EQ(codes_of(chip), Codes{"O0313"});
}

TEST(ChipCheck, RefusesInstancesThatAreNotTheirMesh) {
  Chip chip = sound_chip();
  chip.storages[0].instances = 5;
  EXPECT_EQ(codes_of(chip), Codes{"O0314"});
}

TEST(ChipCheck, MultipliesAMeshBeyond64BitsWithoutOverflow) {
  Chip chip = sound_chip();
  const base::Count huge = base::Count{1} << 40;
  chip.storages[0].mesh_x = chip.compute.mesh_x = huge;
  chip.storages[0].mesh_y = chip.compute.mesh_y = huge;
  chip.storages[0].instances = chip.compute.instances = 0x10000;
  EXPECT_EQ(codes_of(chip), (Codes{"O0314", "O0314"}));
}

TEST(ChipCheck, RefusesAnEmptyBlock) {
  Chip chip = sound_chip();
  chip.storages[1].block_size = 0;
  EXPECT_EQ(codes_of(chip), Codes{"O0315"});
}

TEST(ChipCheck, RefusesLessThanSingleBuffering) {
  for (const double buffering : {0.5, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    Chip chip = sound_chip();
    chip.storages[0].multiple_buffering = buffering;
    EXPECT_EQ(codes_of(chip), Codes{"O0316"}) << buffering;
  }
}

TEST(ChipCheck, RefusesABandwidthThatMovesNothing) {
  for (const double bandwidth : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    Chip chip = sound_chip();
    chip.storages[1].write_words_per_cycle = bandwidth;
    EXPECT_EQ(codes_of(chip), Codes{"O0317"}) << bandwidth;
  }
}

TEST(ChipCheck, RefusesANetworkThatIsNotThere) {
  Chip chip = sound_chip();
  chip.storages[0].network_fill = "Bus";
  EXPECT_EQ(codes_of(chip), Codes{"O0318"});
  chip.networks.push_back({});
  chip.networks.back().name = "Bus";
  EXPECT_EQ(codes_of(chip), Codes{});
}

TEST(Chip, FansOutByTheRatioOfTheMeshes) {
  const Chip chip = sound_chip();
  EXPECT_EQ(chip.fanout_y(0), 1);
  EXPECT_EQ(chip.fanout_y(1), 4);
  EXPECT_EQ(chip.fanout_x(1), 1);
}

TEST(Chip, SharesItsCapacityBetweenBuffers) {
  Chip chip = sound_chip();
  EXPECT_EQ(chip.usable_words(0), 9);
  chip.storages[0].multiple_buffering = 2;
  EXPECT_EQ(chip.usable_words(0), 4);
  EXPECT_EQ(chip.usable_words(1), std::nullopt);
}

TEST(Chip, FindsItsPartsByName) {
  const Chip chip = sound_chip();
  EXPECT_EQ(chip.storage_index("DRAM"), 1);
  EXPECT_EQ(chip.storage_index("dram"), -1);
  EXPECT_EQ(chip.network("Bus"), nullptr);
}

}  // namespace
}  // namespace orrery::machine
