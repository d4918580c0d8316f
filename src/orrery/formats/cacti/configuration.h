// What CACTI 7 is told.
#pragma once

#include <string>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::formats::cacti {

// Every setting that CACTI 7 reads, so that none is left to memory that it never set: the memory, and for the rest
// the settings under which the catalogue's table was made (docs/model/energy.md).
std::string configuration(int technology_nm, const energy::SramPoint& point);

}  // namespace orrery::formats::cacti
