// The figures of components that Orrery brings along: catalog/tables.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/dram.h"
#include "orrery/describe/energy/library.h"
#include "orrery/describe/energy/technology.h"

namespace orrery::formats::accelergy {

struct CatalogueTables {
  energy::NodeScaling nodes;                  // node_energy.csv, node_area.csv
  std::vector<energy::DramType> dram;         // dram.csv
  std::vector<energy::LibraryRow> library;    // accelergy_library.csv: Accelergy's names and figures
  std::vector<energy::LibraryRow> aladdin;    // aladdin.csv: 40 and 45 nm only
  std::vector<energy::LibraryRow> published;  // published.csv: common classes
};

// Reads the tables in `folder`. Each must be whole: a column, a figure or a source that is missing is an error O1240.
// Throws InputError O0100 where a file is missing.
CatalogueTables read_catalogue_tables(const std::string& folder, base::Diagnostics& found);

// One library, from its text.
std::vector<energy::LibraryRow> read_library(std::shared_ptr<const base::SourceFile> file, base::Diagnostics& found);

}  // namespace orrery::formats::accelergy
