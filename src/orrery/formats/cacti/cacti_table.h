// The catalogue's table of SRAM figures (catalog/tables/sram_cacti7.csv), read technology by technology.
//
// Most runs need one technology of five, and a run should take milliseconds: the text is read once, rows are parsed
// when their technology is first asked for, and the surface over them is kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/sram/sram.h"
#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::formats::cacti {

// Rows of one technology, `runners_up` left empty. Errors: O1250 (a column is missing), O1251 (a row that is not a row
// of figures).
energy::SramTable read_sram_table(const std::shared_ptr<const base::SourceFile>& file, int technology_nm,
                                  base::Diagnostics& found);

// The surface of a technology on demand; null for one that the table does not hold. Thread-safe. Reads the header
// at once and throws InputError; a bad row throws when its technology is asked for.
// `runners_up` (sram_cacti7_runners_up.csv) may be null: the surface is less sure then where organisations change.
energy::SramSurfaces sram_surfaces(std::shared_ptr<const base::SourceFile> file,
                                   std::shared_ptr<const base::SourceFile> runners_up = nullptr);

}  // namespace orrery::formats::cacti
