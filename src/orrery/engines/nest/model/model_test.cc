#include "orrery/engines/nest/model/model.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;

enum { kWeights, kInputs, kOutputs };
constexpr std::uint32_t bit_of_model(int s) {
  return 1u << s;
}

// ---- Hand-worked: the scores of one head of BERT-large (E 64, D 4096, L 4096) on a 16 x 16 array. ----

enum { kRegisters, kAccumulator, kScratchpad, kDram };

struct Scores : ::testing::Test {
  enum { kE, kD, kL };
  workload::Einsum einsum = workload::matmul("KTQ", 4096, 64, 4096);
  machine::Chip chip;
  Mapping mapping;

  Scores() {
    chip.storages.resize(4);
    machine::Storage& registers = chip.storages[kRegisters];
    registers = {.name = "Registers", .word_bits = 8, .capacity_words = 1};
    registers.instances = 256, registers.mesh_x = registers.mesh_y = 16;
    registers.energy = {0.00649104, 0.0109044, 0.0109044, 1.0574e-07};
    machine::Storage& accumulator = chip.storages[kAccumulator];
    accumulator = {.name = "Accumulator", .word_bits = 32, .capacity_words = 4096};
    accumulator.instances = accumulator.mesh_y = 16;
    accumulator.read_words_per_cycle = accumulator.write_words_per_cycle = 4;
    accumulator.network_fill_latency_cycles = accumulator.network_drain_latency_cycles = 1;
    accumulator.energy = {4.54186, 3.49104, 3.49104, 0.00100326};
    machine::Storage& scratchpad = chip.storages[kScratchpad];
    scratchpad = {.name = "Scratchpad", .word_bits = 8, .block_size = 16, .capacity_words = 524288};
    scratchpad.read_words_per_cycle = scratchpad.write_words_per_cycle = 16;
    scratchpad.network_fill_latency_cycles = scratchpad.network_drain_latency_cycles = 1;
    scratchpad.energy = {57.039, 54.0501, 54.0501, 0.0274069};
    machine::Storage& dram = chip.storages[kDram];
    dram = {.name = "DRAM", .is_dram = true, .word_bits = 8, .block_size = 8};
    dram.read_words_per_cycle = dram.write_words_per_cycle = 4;
    dram.energy = {512, 512, 512, 0};
    chip.compute = {.name = "MAC", .instances = 256, .mesh_x = 16, .mesh_y = 16};
    chip.compute.compute_pj = 0.276923;
    chip.compute.leak_pj_per_cycle = 0.0037978;

    mapping = testing::everything_outermost(einsum, chip);
    mapping.levels[kDram].temporal = {1, 256, 1};
    mapping.levels[kScratchpad].temporal = {1, 1, 2};
    mapping.levels[kScratchpad].spatial = {1, 16, 1};  // along Y
    mapping.levels[kScratchpad].keep = bit_of_model(kWeights) | bit_of_model(kInputs);
    mapping.levels[kAccumulator].temporal = {4, 1, 128};
    mapping.levels[kAccumulator].temporal_order = {kL, kE, kD};
    mapping.levels[kAccumulator].spatial = {16, 1, 1};  // along X
    mapping.levels[kAccumulator].split = 3;
    mapping.levels[kAccumulator].keep = bit_of_model(kOutputs);
    mapping.levels[kRegisters].temporal = {1, 1, 16};
    mapping.levels[kRegisters].keep = bit_of_model(kWeights);
  }

  Evaluation run(const ModelOptions& options = {}, const std::vector<ReuseRules>& reuse = {}) const {
    EXPECT_TRUE(is_legal(einsum, chip, mapping));
    return evaluate(einsum, chip, mapping, options, reuse);
  }
};

TEST_F(Scores, CountsAreTheHandWorkedOnes) {
  const Evaluation result = run();
  const auto& accumulator = result.storages[kAccumulator].dataspaces[kOutputs];
  EXPECT_EQ(accumulator.reads, 3145728);    // updates less the 2048 * 512 words updated for the first time
  EXPECT_EQ(accumulator.updates, 4194304);  // one per cycle
  EXPECT_EQ(accumulator.fills, 0);
  EXPECT_EQ(accumulator.tile_words, 2048);
  EXPECT_EQ(accumulator.partition_words, 1048576);
  const auto& weights = result.storages[kScratchpad].dataspaces[kWeights];
  EXPECT_EQ(weights.reads, 524288);  // every weight twice: L is split over two Scratchpad iterations
  EXPECT_EQ(weights.fills, 262144);
  EXPECT_EQ(weights.tile_words, 1024);
  const auto& inputs = result.storages[kScratchpad].dataspaces[kInputs];
  EXPECT_EQ(inputs.reads, 67108864);  // 4194304 cycles * 16 rows of E, shared by 16 columns of D
  EXPECT_EQ(inputs.fills, 262144);
  const auto& registers = result.storages[kRegisters].dataspaces[kWeights];
  EXPECT_EQ(registers.reads, 4194304);
  EXPECT_EQ(registers.fills, 2048);
  const auto& dram = result.storages[kDram].dataspaces;
  EXPECT_EQ(dram[kWeights].reads, 262144);
  EXPECT_EQ(dram[kInputs].reads, 262144);
  EXPECT_EQ(dram[kOutputs].updates, 16777216);
  EXPECT_EQ(dram[kOutputs].reads, 0);
  EXPECT_EQ(result.storages[kRegisters].utilized_instances, 256);
  EXPECT_EQ(result.storages[kAccumulator].utilized_instances, 16);
  EXPECT_FALSE(result.storages[kScratchpad].dataspaces[kOutputs].kept);
}

TEST_F(Scores, TheScratchpadsPortsSetTheCycles) {
  const Evaluation result = run();
  // (524288 + 67108864) reads / 16 per cycle = 4227072 > 4194304 compute cycles.
  EXPECT_EQ(result.compute.cycles, 4194304);
  EXPECT_EQ(result.storages[kScratchpad].cycles, 4227072);
  EXPECT_NEAR(result.storages[kScratchpad].throttle, 4194304.0 / 4227072, 1e-12);
  EXPECT_EQ(result.storages[kAccumulator].cycles, 4194304);
  EXPECT_EQ(result.active_cycles, 4227072);
  EXPECT_EQ(result.cycles, 4227072 + 4);  // fill and drain latencies of two storages
  EXPECT_NEAR(result.utilization, 4194304.0 / 4227076, 1e-12);
}

TEST_F(Scores, EnergyIsTheReferencesToThePrintedDigit) {
  const Evaluation result = run(ModelOptions::timeloop());
  EXPECT_NEAR(result.energy_pj / 1e6, 2117.56, 0.005);
  EXPECT_NEAR(result.storages[kScratchpad].leakage_pj, 115850.94, 0.005);
  EXPECT_NEAR(result.storages[kAccumulator].leakage_pj, 67853.64, 0.005);
  EXPECT_NEAR(result.storages[kAccumulator].dataspaces[kOutputs].energy_pj, 462879027.36, 1);
  EXPECT_NEAR(result.storages[kScratchpad].dataspaces[kInputs].energy_pj, 240124462.69, 1);
  EXPECT_NEAR(result.storages[kDram].dataspaces[kOutputs].energy_pj, 1073741824.0, 1e-3);
  EXPECT_EQ(result.cycles, 4227076);
}

TEST_F(Scores, TheComputeUnitsLeakUnlessAskedNotTo) {
  const double counted = run().energy_pj, omitted = run(ModelOptions::timeloop()).energy_pj;
  EXPECT_NEAR(counted - omitted, 0.0037978 * 4227072 * 256, 1);
  EXPECT_NEAR(run().compute.leakage_pj, 4.1097e6, 1e2);
}

TEST_F(Scores, AFanOutWithoutAStoreChangesNothing) {
  const Evaluation before = run();
  machine::Storage rows{.name = "rows", .pass_through = true};
  rows.energy.leak_pj_per_cycle = 1;
  chip.storages.insert(chip.storages.begin() + kScratchpad, rows);
  LevelMapping level = mapping.levels[kScratchpad];
  level.temporal = {1, 1, 1};
  level.keep = 0;
  mapping.levels[kScratchpad].spatial = {1, 1, 1};
  mapping.levels.insert(mapping.levels.begin() + kScratchpad, level);
  const Evaluation after = run();
  EXPECT_DOUBLE_EQ(after.energy_pj, before.energy_pj);
  EXPECT_EQ(after.cycles, before.cycles);
  EXPECT_EQ(after.storages[kScratchpad + 1].dataspaces[kInputs].reads, 67108864);
  ModelOptions charged;
  charged.charge_pass_through = true;
  EXPECT_NEAR(run(charged).energy_pj - before.energy_pj, 4227072, 1e-3);  // 1 pJ per cycle, one instance
}

TEST_F(Scores, BypassedWordsCountAgainFurtherOut) {
  mapping.levels[kScratchpad].keep = bit_of_model(kWeights);  // Inputs come from DRAM
  const Evaluation result = run();
  EXPECT_EQ(result.storages[kDram].dataspaces[kInputs].reads, 67108864);
  EXPECT_EQ(result.storages[kScratchpad].dataspaces[kInputs].reads, 0);
  EXPECT_EQ(result.storages[kScratchpad].dataspaces[kInputs].energy_pj, 0);
  EXPECT_EQ(result.storages[kDram].cycles, (67108864 + 262144) / 4);
}

TEST_F(Scores, EachRowReadsWeightsOfItsOwnThroughABypassedScratchpad) {
  mapping.levels[kScratchpad].keep = bit_of_model(kInputs);
  EXPECT_EQ(run().storages[kDram].dataspaces[kWeights].reads, 524288);
}

TEST_F(Scores, AnAccumulatorPerColumnFillsWhatItDidNotStart) {
  // E outermost at DRAM: partial sums leave the Accumulator and come back.
  mapping.levels[kDram].temporal = {4, 256, 1};
  mapping.levels[kDram].temporal_order = {kD, kE, kL};
  mapping.levels[kAccumulator].temporal = {1, 1, 128};
  const Evaluation result = run();
  const auto& outputs = result.storages[kAccumulator].dataspaces[kOutputs];
  // Each of the 1048576 words of an instance comes back three times of four.
  EXPECT_EQ(outputs.fills, 3 * 1048576);
  EXPECT_EQ(outputs.reads, 4194304 - 1048576);
  const auto& dram = result.storages[kDram].dataspaces[kOutputs];
  EXPECT_EQ(dram.updates, 4 * 16777216);
  EXPECT_EQ(dram.reads, 3 * 16777216);
}

TEST_F(Scores, TheFirstUpdateReadsTooWhereTheHardwareDoes) {
  std::vector<ReuseRules> reuse(4);
  reuse[kAccumulator].read_first_update = bit_of_model(kOutputs);
  EXPECT_EQ(run({}, reuse).storages[kAccumulator].dataspaces[kOutputs].reads, 4194304);
}

TEST_F(Scores, WithoutSharingEachRowReadsItsOwnInputs) {
  std::vector<ReuseRules> reuse(4);
  reuse[kScratchpad].no_spatial_sharing = bit_of_model(kInputs);
  EXPECT_EQ(run({}, reuse).storages[kScratchpad].dataspaces[kInputs].reads, Count{16} * 67108864);
}

TEST_F(Scores, WithoutTemporalReuseTheTileComesAgainEachIteration) {
  std::vector<ReuseRules> reuse(4);
  reuse[kScratchpad].no_temporal_reuse = bit_of_model(kInputs);  // 262144 words, for each of 256 iterations of D
  EXPECT_EQ(run({}, reuse).storages[kDram].dataspaces[kInputs].reads, Count{262144} * 256);
}

TEST_F(Scores, LatenciesDelayTheEndButDoNotLeak) {
  const double before = run().energy_pj;
  chip.storages[kScratchpad].network_fill_latency_cycles = 100;
  chip.storages[kScratchpad].network_drain_latency_cycles = 10;
  EXPECT_EQ(run().cycles, 4227072 + 2 + 110);
  EXPECT_EQ(run().active_cycles, 4227072);
  EXPECT_DOUBLE_EQ(run().energy_pj, before);
}

TEST_F(Scores, LatenciesOfAComponentAreThoseOfTheNetworksThatStoragesName) {
  chip.networks.resize(2);
  chip.networks[0].name = "down";
  chip.networks[0].fill_latency_cycles = 100;
  chip.networks[1].name = "up";
  chip.networks[1].fill_latency_cycles = 20;
  chip.networks[1].drain_latency_cycles = 10;
  EXPECT_EQ(run().cycles, 4227072 + 4);
  chip.storages[kScratchpad].network_read = "down";
  chip.storages[kScratchpad].network_update = "up";
  EXPECT_EQ(run().cycles, 4227072 + 4 + 110);
  ModelOptions repeated;
  repeated.drain_latency_is_fill = true;
  EXPECT_EQ(run(repeated).cycles, 4227072 + 4 + 120);
}

// ---- Blocks, ports, networks: a buffer below a DRAM, with numbers small enough to count. ----

struct Toy : ::testing::Test {
  enum { kE, kD, kL };
  workload::Einsum einsum = workload::matmul("toy", 3, 5, 1);
  machine::Chip chip;
  Mapping mapping;

  Toy() {
    chip.storages.resize(2);
    chip.storages[0] = {.name = "Buffer", .class_name = "SRAM"};
    chip.storages[1] = {.name = "DRAM", .is_dram = true};
    chip.compute.name = "MAC";
    mapping = testing::everything_outermost(einsum, chip);
    std::swap(mapping.levels[0].temporal, mapping.levels[1].temporal);  // all inside the buffer
    mapping.levels[0].keep = 0b111;
  }
  Evaluation run(const ModelOptions& options = {}) const { return evaluate(einsum, chip, mapping, options); }
};

TEST_F(Toy, AStartedBlockIsPaidWhole) {
  chip.storages[1].block_size = 4;
  chip.storages[1].energy.read_pj = 10;
  // Weights 15 words -> 4 blocks, Inputs 5 -> 2; Outputs are only written.
  EXPECT_DOUBLE_EQ(run().storages[1].energy_pj, 60);
  chip.storages[1].energy.update_pj = 1;  // 3 words -> 1 block
  EXPECT_DOUBLE_EQ(run().storages[1].energy_pj, 61);
}

TEST_F(Toy, FillsCostWritesAndUpdatesCostUpdates) {
  chip.storages[0].energy = {0, 100, 1, 0};
  // Fills: Weights 15, Inputs 5, Outputs 0 (nothing to add to). Updates: one per operation.
  EXPECT_DOUBLE_EQ(run().storages[0].energy_pj, 20 * 100 + 15);
}

TEST_F(Toy, ReadWriteAndSharedPortsEachLimit) {
  const auto cycles = [&](auto set, double words) {
    chip.storages[0].read_words_per_cycle.reset();
    chip.storages[0].write_words_per_cycle.reset();
    chip.storages[0].shared_words_per_cycle.reset();
    chip.storages[0].*set = words;
    return run().cycles;
  };
  // 15 cycles; reads 15 + 15 + 12, writes 15 + 5 fills and 15 updates.
  EXPECT_EQ(cycles(&machine::Storage::read_words_per_cycle, 3), 15);
  EXPECT_EQ(cycles(&machine::Storage::read_words_per_cycle, 2), 21);
  EXPECT_EQ(cycles(&machine::Storage::write_words_per_cycle, 2), 18);  // 35 / 2, rounded up
  EXPECT_EQ(cycles(&machine::Storage::write_words_per_cycle, 3), 15);
  EXPECT_EQ(cycles(&machine::Storage::shared_words_per_cycle, 3), 26);  // 77 / 3
}

TEST_F(Toy, AnIdealPortNeverSlows) {
  EXPECT_EQ(run().cycles, 15);
  EXPECT_DOUBLE_EQ(run().storages[0].throttle, 1);
}

TEST_F(Toy, UtilizationCountsIdleComputeUnits) {
  chip.compute.instances = chip.compute.mesh_x = 4;
  EXPECT_DOUBLE_EQ(run().utilization, 0.25);
}

TEST_F(Toy, EnergyDelayProductIsInJouleCycles) {
  chip.compute.compute_pj = 2;
  const Evaluation result = run();
  EXPECT_DOUBLE_EQ(result.energy_pj, 30);
  EXPECT_DOUBLE_EQ(result.edp_j_cycles, 30 * 15 / 1e12);
}

struct Multicast : Toy {
  // L over 6 compute units: each weight goes to 6 at once, inputs and outputs are each unit's own.
  Multicast() {
    einsum = workload::matmul("toy", 3, 5, 6);
    chip.compute.instances = chip.compute.mesh_x = 6;
    mapping.levels[0].spatial = {1, 1, 6};
    mapping.levels[0].split = 3;
    machine::Network network{.name = "bus"};
    network.energy_pj["transfer"] = {{1, 1.0}, {4, 3.0}};
    chip.networks.push_back(network);
    chip.storages[0].network_read = "bus";
  }
};

TEST_F(Multicast, WordsPayForTheDestinationsTheyReach) {
  chip.networks[0].energy_pj["transfer"] = {{1, 1.0}, {6, 3.0}};
  const NetworkCost cost = run().networks[0];
  EXPECT_EQ(cost.transfers[kWeights], 15);
  EXPECT_EQ(cost.destinations[kWeights], 6);
  EXPECT_EQ(cost.transfers[kInputs], 15 * 6);
  EXPECT_EQ(cost.destinations[kInputs], 1);
  EXPECT_DOUBLE_EQ(cost.energy_pj, 15 * 3.0 + 90 + 90);
  EXPECT_DOUBLE_EQ(run().energy_pj, cost.energy_pj);
}

TEST_F(Multicast, AMulticastBeyondTheTableIsSentAgainUnlessMissingIsFree) {
  // 6 destinations: once to 4, then to the 2 that are left at the price of 4.
  EXPECT_DOUBLE_EQ(run().networks[0].dataspace_energy_pj[kWeights], 15 * (3.0 + 3.0));
  ModelOptions free;
  free.missing_multicast_is_free = true;
  EXPECT_DOUBLE_EQ(run(free).networks[0].dataspace_energy_pj[kWeights], 0);
  EXPECT_DOUBLE_EQ(run(free).networks[0].dataspace_energy_pj[kInputs], 90);
}

TEST_F(Multicast, AMulticastBetweenTwoEntriesPaysTheWider) {
  chip.networks[0].energy_pj["transfer"] = {{1, 1.0}, {8, 5.0}};
  EXPECT_DOUBLE_EQ(run().networks[0].dataspace_energy_pj[kWeights], 15 * 5.0);
}

TEST_F(Multicast, ATablePerDataspacePricesEachByItsOwn) {
  chip.networks[0].per_dataspace = true;
  chip.networks[0].energy_pj = {{"transfer_Inputs", {{1, 7.0}}}};
  const NetworkCost cost = run().networks[0];
  EXPECT_DOUBLE_EQ(cost.dataspace_energy_pj[kInputs], 90 * 7.0);
  EXPECT_DOUBLE_EQ(cost.dataspace_energy_pj[kWeights], 0);
}

TEST_F(Multicast, NothingTravelsBelowItsOnlyStorageTwice) {
  // The lower side may name the network too; it is the same network.
  chip.storages[0].network_update = "bus";
  EXPECT_EQ(run().networks[0].transfers[kWeights], 15);
}

// ---- A normalisation whose operands have register files side by side. ----

TEST(Model, ParallelRegisterFilesHoldOneOperandEach) {
  // Two sweeps (D) over columns of 8 elements (E), 6 columns (L); a column stays in the files meanwhile.
  enum { kL, kE, kD };
  const workload::Einsum einsum = workload::normalisation("softmax", 6, 8, 2);
  machine::Chip chip;
  chip.storages.resize(4);
  chip.storages[0] = {.name = "Registers_Inputs", .capacity_words = 8};
  chip.storages[1] = {.name = "Registers_Outputs", .capacity_words = 8};
  chip.storages[2] = {.name = "Accumulator", .capacity_words = 64};
  chip.storages[3] = {.name = "DRAM"};
  chip.compute.name = "MAC";
  Mapping mapping = testing::everything_outermost(einsum, chip);
  mapping.levels[0].temporal[kE] = 8;
  mapping.levels[0].keep = bit_of_model(kInputs);
  mapping.levels[1].keep = bit_of_model(kOutputs);
  mapping.levels[2].temporal[kD] = 2;
  mapping.levels[2].keep = bit_of_model(kInputs);
  mapping.levels[3].temporal = {6, 1, 1};
  ASSERT_TRUE(is_legal(einsum, chip, mapping));
  const Evaluation result = evaluate(einsum, chip, mapping);
  EXPECT_EQ(result.cycles, 96);
  const auto words = [&](int level, int s) { return result.storages[level].dataspaces[s]; };
  EXPECT_EQ(words(0, kInputs).reads, 96);
  EXPECT_EQ(words(0, kInputs).fills, 48);  // the second sweep finds the column there
  EXPECT_EQ(words(1, kOutputs).updates, 96);
  EXPECT_EQ(words(1, kOutputs).reads, 48);  // the first sweep starts from nothing
  EXPECT_EQ(words(1, kOutputs).fills, 0);
  EXPECT_EQ(words(2, kInputs).reads, 48);
  EXPECT_EQ(words(2, kOutputs).updates, 0);
  EXPECT_EQ(words(3, kInputs).reads, 48);
  EXPECT_EQ(words(3, kOutputs).updates, 48);
  EXPECT_EQ(words(3, kWeights).reads, 96);  // nothing holds them below
}

// ---- What the model refuses. ----

TEST(Model, ProductsBeyond64BitsAreRefused) {
  machine::Chip chip;
  chip.storages.resize(1);
  EXPECT_THROW(Model(workload::matmul("huge", Count{1} << 30, Count{1} << 30, 16), chip), base::OverflowError);
}

// Outputs slide: rank 0 spans 3 r + 2 l. 2^38 iterations touch 3 words each at most, which fits 64 bits,
// although the iterations times all the words of the outputs do not.
TEST(Model, ASlidingLayerIsRefusedOnlyWhenItsTrafficCannotBeCounted) {
  machine::Chip chip;
  chip.storages.resize(1);
  workload::Einsum einsum;
  einsum.name = "deconvolution";
  einsum.dimensions = {{"R", 4}, {"L", 64}, {"D", Count{1} << 30}};
  einsum.dataspaces = {{"Weights", {{{{0}}}, {{{2}}}}}, {"Outputs", {{{{0, 3}, {1, 2}}}, {{{2}}}}, true}};
  EXPECT_NO_THROW(Model(einsum, chip));
  einsum.dimensions[2].bound = Count{1} << 54;
  EXPECT_THROW(Model(einsum, chip), base::OverflowError);
}

TEST(Model, MoreLevelsThanThereIsRoomForIsAMessage) {
  machine::Chip chip;
  chip.storages.resize(kMaxLevels + 1);
  EXPECT_EQ(base::refused([&] { Model(workload::matmul("layer", 1, 1, 1), chip); }).at(0).code, "O1010");
}

}  // namespace
}  // namespace orrery::nest
