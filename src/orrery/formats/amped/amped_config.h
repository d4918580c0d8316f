// AMPeD's config.json: four categories of parameters, each with a value, a mark that it is calculated, or one that it
// stands in a table. Read here, given numbers in amped_parameters.h.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/engines/amped/quantities.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

using File = std::shared_ptr<const base::SourceFile>;

// A text and where it stands; empty and unplaced when it is not given.
struct Text {
  std::string text;
  base::Location where;
};

struct Parameter {
  std::string name;
  base::Location where;  // of the name
  equations::Category category = equations::Category::kNetwork;
  bool has_value = false;
  json::Node value;
  bool calculated = false;
  bool from_lookup_table = false;
  Text lookup_name;  // in the table's row; empty: the parameter's own
  std::string description;
};

struct Lookup {
  Text table, row;
};

struct Category {
  bool given = false;
  base::Location where;
  bool has_lookup = false;
  Lookup lookup;
  std::vector<Parameter> parameters;  // of equal names the last alone
};

struct Config {
  File file;
  std::array<Category, equations::kCategories> categories;
};

// Overrides as `--set` gives them: a parameter's name, optionally after its category and before `.value`, or
// `CATEGORY.lookup_config.lookup_table_row` (or `..._name`), and the new value.
using base::Overrides;

// Throws InputError: O1320 no JSON object, O1323 wrong types, O1325 an override of nothing. Warnings go to `found`:
// O1322 unknown keys, O1324 repeated keys, O1325 unknown parameters.
Config read_config(const File& file, const Overrides& overrides, base::Diagnostics& found);

// Whether AMPeD has a parameter of that name, used by the equations or not.
bool is_parameter(std::string_view name);

// "did you mean" among AMPeD's parameters.
std::string meant_parameter(std::string_view name);

}  // namespace orrery::formats::amped
