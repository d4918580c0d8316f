// Figures of hardware that nobody builds: mostly a slip in the unit, a factor of 1000.
#pragma once

#include <string>

#include "orrery/base/diagnostic.h"

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

// Warns (O1380) where `value` is far outside of what there is, with the value in the unit people know, the usual range,
// and the value that was probably meant. `name` is the field's, `where` its place. 0 says that there is none.
void doubt(HardwareFigure figure, double value, const std::string& name, Location where, Diagnostics& found);

}  // namespace orrery::base
