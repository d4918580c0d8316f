// The catalogue's table of how far off figures of SRAMs are (catalog/tables/sram_errors.csv).
#pragma once

#include <memory>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/sram/sram_errors.h"

namespace orrery::formats::cacti {

// The word for a kind in the table: "rows", "node".
std::string_view name(energy::SramErrorKind kind);

// Errors: O1264 (a missing column, a kind or cell that is none); those of csv::parse.
energy::SramErrors read_sram_errors(std::shared_ptr<const base::SourceFile> file, base::Diagnostics& found);

}  // namespace orrery::formats::cacti
