// Hardware figures outside the range of what is built: usually a wrong unit, off by a factor of 1000.
#pragma once

#include <string>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

// What a figure is of; its value is in FLOP/s, bytes, bytes/s, seconds, Hz, watts or dollars an hour.
enum class HardwareFigure {
  kMatrixPeak,       // of an accelerator, 16 bits and fewer, or tf32
  kVectorPeak,       // of one, fp32
  kMemory,           // DRAM of an accelerator
  kMemoryBandwidth,  // its
  kOnChipMemory,     // SRAM of an accelerator
  kLinkBandwidth,    // of an accelerator into a network, or of a link
  kLatency,          // of a step or message, of issuing an operator or a collective
  kFixedTime,        // of an iteration
  kClock,
  kPower,  // of an accelerator
  kPrice,  // of an accelerator, an hour
};

// Warns (O1380) where `value` is far outside the usual range, and names that range and the value that was probably
// meant, in the unit people know. `name` and `where` are the field's. 0 means "none": no warning.
void doubt(HardwareFigure figure, double value, const std::string& name, Location where, Diagnostics& found);

}  // namespace orrery::base
