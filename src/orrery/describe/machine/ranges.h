// The supported ranges of a chip's figures.
//
// Engines multiply a chip's figures with counts of up to 2^63 words, instances and cycles. In these ranges no such
// product, and no product of two of them, leaves the range of a double in either direction, so that what an engine
// compares is never infinite, 0 by underflow or not a number.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"

namespace orrery::machine {

inline constexpr double kLeastFigure = 1e-60;  // of a positive energy (pJ) or area (um^2)
inline constexpr double kMostFigure = 1e60;
inline constexpr double kLeastWordsPerCycle = 0x1p-63;  // below it, one word takes more cycles than are counted

// 0 is allowed, too.
inline bool in_range(double energy_or_area) {
  return energy_or_area == 0 || (energy_or_area >= kLeastFigure && energy_or_area <= kMostFigure);
}

// "1e+300 pJ is more than 1e+100 pJ", of a figure that is not in_range.
std::string range_broken(double energy_or_area, const char* unit);

// Finds energies out of range (O0609) and bandwidths (O0327). Readers check what they read themselves and point into
// the file; this is for chips from other sources.
void check_ranges(const Chip& chip, base::Diagnostics& found);

// Finds bandwidths below kLeastWordsPerCycle (O0327) of one storage.
void check_bandwidth_ranges(const Storage& storage, base::Diagnostics& found);

}  // namespace orrery::machine
