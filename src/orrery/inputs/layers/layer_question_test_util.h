// A small chip and questions about it, as values, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "orrery/inputs/layers/layer_question.h"

namespace orrery::verbs::testing {

// DRAM, a buffer of 64 words and 4 MACs side by side.
inline machine::Chip small_chip() {
  machine::Storage buffer;
  buffer.name = "Buffer";
  buffer.class_name = "SRAM";
  buffer.capacity_words = 64;
  buffer.read_words_per_cycle = 2;
  buffer.write_words_per_cycle = 2;
  buffer.energy = {1.5, 1.25, 1.25, 0.125};
  machine::Storage dram;
  dram.name = "DRAM";
  dram.class_name = "DRAM";
  dram.is_dram = true;
  dram.energy = {64, 64, 64, 0};
  machine::Chip chip;
  chip.storages = {buffer, dram};
  chip.compute.name = "MAC";
  chip.compute.instances = 4;
  chip.compute.mesh_x = 4;
  chip.compute.compute_pj = 0.25;
  return chip;
}

// Outputs[m][n] += Weights[k][m] * Inputs[k][n], nothing constrained.
inline LayerQuestion product(std::string name, std::shared_ptr<const machine::Chip> chip, base::Count m, base::Count k,
                             base::Count n, base::Count instances = 1) {
  LayerQuestion question;
  question.einsum = workload::matmul(name, m, k, n);
  question.name = std::move(name);
  question.instances = instances;
  question.chip = std::move(chip);
  return question;
}

}  // namespace orrery::verbs::testing
