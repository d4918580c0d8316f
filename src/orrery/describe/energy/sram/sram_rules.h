// What an SRAM of any description costs, in terms of SRAMs that CACTI can build.
//
// CACTI takes words of whole bytes from 32 bit on, at least 64 words a bank, powers of two as numbers of banks and
// five technologies. A memory of width w, depth d and n banks is asked for as its least superset
//
//   w' = max(8 ceil(w / 8), 32)     d' = max(d, 64 n)     n' = 2^ceil(log2 n)     capacity = w' d' / 8 bytes
//
// and its figures are scaled back by ws = w / w' and ds = d / d':
//
//   read, write   x (0.7 ws + 0.3) x ds^0.78        update = write
//   leakage       x ws x ds x n / n'  (mW)          a leak action: x global_cycle_seconds
//   area          x ws x ds
//
// Between two technologies every figure is interpolated linearly; below 22 nm all shrink by t / 22, leakage by
// 0.79 besides; above 90 nm all grow by (t / 90)^2. These are the rules of Accelergy's CACTI plug-in, whose ERTs
// they reproduce.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::energy {

// The least that CACTI is asked for.
inline constexpr int kSramLeastBits = 32;
inline constexpr int kSramLeastWords = 64;                              // a bank
inline constexpr std::array<int, 5> kTechnologies{22, 32, 45, 65, 90};  // nm

struct SramDescription {
  double technology_nm = 0;
  double width_bits = 0;
  double depth = 0;
  double banks = 1;
  int ports = 1;
};

// Part of a figure: `weight` times the figures of `point` at `technology_nm`.
struct SramBuild {
  int technology_nm = 0;
  double weight = 1;
};

struct SramRequest {
  SramPoint point;
  std::vector<SramBuild> technologies;  // one, or the two around
  SramFigures scale{};                  // of each figure; of kAccess: 1
};

// Where a description lies beyond what CACTI builds, one text for each bound: "1 bit is below the 8 bit of CACTI's
// narrowest word, by a factor of 8: ...". Empty within.
std::vector<std::string> beyond(const SramDescription& memory);

// The rule by which CACTI's figures become those of another technology; empty where they need none.
std::string node_rule(const SramDescription& memory, const SramRequest& asked);

// For a description with positive width, depth and banks whose capacity fits 62 bits (checked by the caller).
SramRequest request(const SramDescription& memory);

}  // namespace orrery::energy
