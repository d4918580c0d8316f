// What CACTI 7 answers: a header and one row, comma-separated, in the file it writes beside its configuration.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::formats::cacti {

// Figures of the last row, leakage of all `banks`; or why there are none ("its result has no column `Area (mm2)`").
std::variant<energy::SramFigures, std::string> read_result(std::string_view csv, int banks);

}  // namespace orrery::formats::cacti
