// Accelergy's sets of estimation tables: a description `*.table.yaml`
//
//   name: 32nm_tables
//   technology: 32nm
//   accuracy: 100            # 0 to 100
//   path_to_data_dir: ./data # seen from the description
//
// and in that folder one CSV file for each class: columns of attributes, `action`, columns of arguments, `energy`
// (pJ), `area` (um^2) and comments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/energy/estimation_table.h"

namespace orrery::formats::accelergy {

// Every set in `folder` and the folders below it, in the order of the descriptions' paths. Errors: O1232 (a broken
// description), O1233 (its data folder), O1234 (a table without its columns), O1236 (a figure that is none),
// O1237 (`folder`); warnings: O1235 (a ragged row, which is left out), O1238 (a name twice).
std::vector<energy::TableSet> read_table_sets(const std::string& folder, base::Diagnostics& found);

// One table, from its text.
energy::EstimationTable read_table(std::shared_ptr<const base::SourceFile> file, std::string class_name,
                                   base::Diagnostics& found);

}  // namespace orrery::formats::accelergy
