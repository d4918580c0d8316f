// The two chips of Timeloop-Experiments, built in code, for tests and benchmarks of this floor (which may
// not read files). Figures: catalog/chips/gemmini.yaml and pim.yaml, which cite their sources.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest::testing {

struct SeedCase {
  machine::Chip chip;
  Mapspace space;
};

// Dimensions and dataspaces in the order of workload::matmul.
inline constexpr int kE = 0, kD = 1, kL = 2;
inline constexpr int kWeights = 0, kInputs = 1, kOutputs = 2;

inline machine::Storage seed_storage(std::string name, int word_bits, base::Count block,
                                     machine::ActionEnergies energy) {
  machine::Storage storage;
  storage.name = std::move(name);
  storage.word_bits = word_bits;
  storage.block_size = block;
  storage.energy = energy;
  return storage;
}

inline machine::Storage seed_fanout(std::string name, base::Count mesh_x, base::Count mesh_y, double leak) {
  machine::Storage storage = seed_storage(std::move(name), 1, 1, {1, 1, 1, leak});
  storage.pass_through = true;
  storage.mesh_x = mesh_x;
  storage.mesh_y = mesh_y;
  storage.instances = mesh_x * mesh_y;
  return storage;
}

struct SpaceBuilder {
  Mapspace space;

  void factor(int level, bool spatial, int dimension, Comparison comparison, base::Count value) {
    Constraint constraint;
    constraint.level = level;
    constraint.spatial = spatial;
    constraint.dimension = dimension;
    constraint.comparison = comparison;
    constraint.value = value;
    space.constraints.push_back(constraint);
  }
  void temporal(int level, int dimension, base::Count value) {
    factor(level, false, dimension, Comparison::kEqual, value);
  }
  void spatial(int level, int dimension, base::Count value) {
    factor(level, true, dimension, Comparison::kEqual, value);
  }
  // Which dataspaces of a level are kept; the others are bypassed.
  void keep(int level, std::initializer_list<int> kept) {
    for (int s = 0; s < 3; ++s) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kKeep;
      constraint.level = level;
      constraint.dataspace = s;
      constraint.keep = std::find(kept.begin(), kept.end(), s) != kept.end();
      space.constraints.push_back(constraint);
    }
  }
  void pass(int level) {
    for (const int d : {kE, kD, kL}) temporal(level, d, 1);
    keep(level, {});
  }
};

// Innermost first: Registers, columns, Accumulator, rows, Scratchpad, DRAM.
inline SeedCase gemmini() {
  SeedCase seed;
  machine::Chip& chip = seed.chip;
  chip.name = "gemmini";
  chip.cycle_seconds = 1.2e-9;
  machine::Storage registers = seed_storage("Registers", 8, 1, {0.00649104, 0.0109044, 0.0109044, 1.0574e-07});
  registers.capacity_words = 1;
  registers.mesh_x = registers.mesh_y = 16;
  registers.instances = 256;
  machine::Storage accumulator = seed_storage("Accumulator", 32, 1, {4.54186, 3.49104, 3.49104, 0.00100326});
  accumulator.capacity_words = 4096;
  accumulator.mesh_y = accumulator.instances = 16;
  accumulator.read_words_per_cycle = accumulator.write_words_per_cycle = 4;
  accumulator.network_fill_latency_cycles = accumulator.network_drain_latency_cycles = 1;
  machine::Storage scratchpad = seed_storage("Scratchpad", 8, 16, {57.039, 54.0501, 54.0501, 0.0274069});
  scratchpad.capacity_words = 524288;
  scratchpad.read_words_per_cycle = scratchpad.write_words_per_cycle = 16;
  scratchpad.network_fill_latency_cycles = scratchpad.network_drain_latency_cycles = 1;
  machine::Storage dram = seed_storage("DRAM", 8, 8, {512, 512, 512, 0});
  dram.is_dram = true;
  dram.read_words_per_cycle = dram.write_words_per_cycle = 4;
  chip.storages = {registers,   seed_fanout("inter_PECols_spatial", 1, 16, 0),
                   accumulator, seed_fanout("inter_PERows_spatial", 1, 1, 0),
                   scratchpad,  dram};
  chip.compute = {"MAC", "intmac", 16, 256, 16, 16, 0.276923, 0.0037978, {}, {}};

  SpaceBuilder build;
  build.keep(5, {kWeights, kInputs, kOutputs});
  build.keep(4, {kWeights, kInputs});
  build.temporal(4, kD, 1);
  build.pass(3);
  build.spatial(3, kE, 1), build.spatial(3, kL, 1), build.spatial(3, kD, 16);
  build.keep(2, {kOutputs});
  build.pass(1);
  build.spatial(1, kD, 1), build.spatial(1, kL, 1), build.spatial(1, kE, 16);
  build.keep(0, {kWeights});
  build.temporal(0, kE, 1), build.temporal(0, kD, 1), build.temporal(0, kL, 16);
  seed.space = std::move(build.space);
  return seed;
}

// Innermost first: scratchpad (the cells), columns, rows, dummy_buffer, shared_glb, DRAM.
inline SeedCase pim() {
  SeedCase seed;
  machine::Chip& chip = seed.chip;
  chip.name = "pim";
  chip.cycle_seconds = 1.2e-9;
  machine::Storage cells = seed_storage("scratchpad", 16, 1, {0.0066, 0.0033, 0.0033, 0});
  cells.capacity_words = 1;
  cells.mesh_x = cells.mesh_y = 128;
  cells.instances = 16384;
  machine::Storage buffer = seed_storage("dummy_buffer", 8, 2, {});
  buffer.capacity_words = 0;
  buffer.network_fill = "D2A_NoC";
  buffer.network_drain = "A2D_NoC";
  machine::Storage shared = seed_storage("shared_glb", 8, 16, {43.8762, 40.8873, 40.8873, 0.0138269});
  shared.capacity_words = 262144;
  shared.read_words_per_cycle = shared.write_words_per_cycle = 16;
  shared.network_read = "D2A_NoC";
  shared.network_update = "A2D_NoC";
  machine::Storage dram = seed_storage("DRAM", 16, 4, {512, 512, 512, 0});
  dram.is_dram = true;
  chip.storages = {cells,
                   seed_fanout("inter_PECols_spatial", 1, 128, 1),
                   seed_fanout("inter_PERows_spatial", 1, 1, 1),
                   buffer,
                   shared,
                   dram};
  chip.compute = {"mac", "memcell_compute", 16, 16384, 128, 128, 0.01464, 0, {}, {}};
  machine::Network down;
  down.name = "D2A_NoC";
  down.per_dataspace = true;
  for (base::Count n = 1; n <= 16; ++n) down.energy_pj["transfer_Inputs"][n] = 0.0264;
  machine::Network up;
  up.name = "A2D_NoC";
  up.per_dataspace = true;
  up.energy_pj["transfer_Outputs"][1] = 2.08587;
  chip.networks = {down, up};

  SpaceBuilder build;
  build.keep(5, {kWeights, kInputs, kOutputs});
  build.pass(3);
  build.pass(2);
  build.spatial(2, kL, 1), build.spatial(2, kE, 1);
  build.factor(2, true, kD, Comparison::kAtLeast, 32);
  build.pass(1);
  build.spatial(1, kL, 1), build.spatial(1, kD, 1);
  build.factor(1, true, kE, Comparison::kAtLeast, 32);
  build.keep(0, {kWeights});
  build.temporal(0, kE, 1), build.temporal(0, kD, 1), build.temporal(0, kL, 1);
  seed.space = std::move(build.space);
  return seed;
}

}  // namespace orrery::nest::testing
