// The machine's memory-mapped registers: where each is, what it is at reset, who may write it.
//
// 32-bit words at byte addresses; numbers of 64 bits take two, the low one first. A driver writes what is to be run,
// then START; the machine is BUSY until it is DONE, and raises its interrupt if that is enabled. Writes to what is read
// only, to the run's registers while it is BUSY, and to addresses that do not exist change nothing and set ERROR.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "orrery/engines/accelerator/simulate.h"
#include "orrery/engines/accelerator/units/quantiser_constants.h"

namespace orrery::accelerator {

enum class Access {
  kRead,        // of the machine alone
  kWrite,       // by the driver, while the machine is not busy
  kClearByOne,  // bits that are written as 1 become 0
};

struct RegisterInfo {
  std::uint32_t address;
  const char* name;
  int bits;  // the others read as 0, and are dropped
  Access access;
  std::uint32_t reset;
  const char* meaning;
};
// By address; without the table of lengths.
std::span<const RegisterInfo> registers();
const RegisterInfo& register_named(const char* name);

// CONTROL and STATUS.
inline constexpr std::uint32_t kStart = 1U << 0U, kInterrupts = 1U << 1U, kPredict = 1U << 2U, kNormalise = 1U << 3U,
                               kCausal = 1U << 4U, kPacked = 1U << 5U, kOverlap = 1U << 6U;
inline constexpr std::uint32_t kBusy = 1U << 0U, kDone = 1U << 1U, kError = 1U << 2U;

// LENGTH[i], i a sequence: queries in the low half, keys in the high one, up to the last valid ones.
inline constexpr std::uint32_t kLengths = 0x400;
inline constexpr std::uint32_t kMostSequences = 256;

class RegisterFile {
 public:
  explicit RegisterFile(const Instance& instance);

  // By the driver.
  std::uint32_t read(std::uint32_t address) const;
  void write(std::uint32_t address, std::uint32_t value);
  bool interrupt() const;

  // By the machine: whether it has been started, and what it leaves.
  bool started() const { return (at("STATUS") & kBusy) != 0; }
  void done(const Simulation& run);

  std::uint32_t at(const char* name) const { return read(register_named(name).address); }

 private:
  void set(const char* name, std::uint64_t value);

  std::map<std::uint32_t, std::uint32_t> values_;
};

// What a driver writes for a run, START last. Base addresses are left as they are. The work has at most kMostSequences
// sequences and lengths below 2^16.
void program(RegisterFile& file, const Instance& instance, const Work& work, const PredictionConstants& constants);

// The quantiser's and the predictor's numbers as the machine finds them in its registers.
PredictionConstants constants_in(const RegisterFile& file, const Instance& instance);

}  // namespace orrery::accelerator
