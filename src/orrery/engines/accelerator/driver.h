// What a driver of the accelerator in rtl/ does for a run: its registers' words in the order in which they are written,
// and how numbers lie in the memory.
//
// Matrices with a valid query lie one behind the other, each up to its last valid tokens. Numbers are two bytes, the
// low one first, rows of tokens without gaps. Bits of validity follow keys,
// and each tile's queries, a bit a token, and are filled up to the memory's word; columns of a given mask lie tile by
// tile, a bit a row in whole bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/engines/accelerator/calculate.h"
#include "orrery/engines/accelerator/units/registers.h"

namespace orrery::accelerator {

struct RegisterWord {
  std::uint32_t address = 0, value = 0;
};

enum class Region { kQueries, kKeys, kValues, kMasks, kOutputs };
inline constexpr int kRegions = 5;

struct DriverRun {
  std::vector<RegisterWord> words;  // the last one starts it
  std::array<std::uint32_t, kRegions> bases{};
  std::array<std::vector<std::uint8_t>, kRegions> memory;  // outputs: as they must be
  Count cycles = 0, blocks = 0;
};

// `word_bytes`: of the memory, which tokens fill; blocks are packed in the machine. Regions begin `apart` bytes after
// each other.
DriverRun driver_run(const Instance& instance, const Work& work, const FixedInputs& inputs,
                     const PredictionConstants& constants, const Simulation& simulation, Count word_bytes,
                     std::uint32_t apart = 1U << 24);

}  // namespace orrery::accelerator
