// AMPeD's lookup_tables.json: tables of rows of properties, such as accelerators and transformers by name.
#pragma once

#include <map>
#include <string>

#include "orrery/formats/amped/amped_config.h"

namespace orrery::formats::amped {

struct TableRow {
  base::Location where;
  std::map<std::string, json::Node> properties;
};

struct LookupTable {
  base::Location where;
  std::map<std::string, TableRow> rows;
};

struct LookupTables {
  File file;  // null: none was given
  std::map<std::string, LookupTable> tables;
};

// Throws InputError: O1321 no JSON object of objects of objects. Warns of repeated keys (O1324), of which the last
// counts.
LookupTables read_lookup_tables(const File& file, base::Diagnostics& found);

// What the row of `lookup` has by the name of the parameter. Null, with an error that tells which is missing: O1326 the
// `lookup_config`, O1330 the tables' file, O1327 the table, O1328 its row, O1329 the row's property.
const json::Node* look_up(const LookupTables& tables, const Category& category, const Parameter& parameter,
                          base::Diagnostics& found);

}  // namespace orrery::formats::amped
