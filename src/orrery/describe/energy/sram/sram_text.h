// Memories in words, for sources and refusals.
#pragma once

#include <string>

#include "orrery/describe/energy/sram/sram_rules.h"

namespace orrery::energy {

// "512 B", "64 KiB", "22.2 KiB", "16 MiB".
std::string bytes_text(base::Count bytes);

// "64 KiB, 128 bit, 4 banks"; ports where there are several.
std::string text(const SramPoint& point);

// "CACTI 7, a row of the table: 32 nm, 256 B, 32 bit; scaled to 1 word of 8 bit".
std::string describe(const SramDescription& memory, const SramRequest& asked, const std::string& how);

}  // namespace orrery::energy
