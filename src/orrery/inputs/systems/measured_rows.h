// A table of measurements in the catalogue: what it says of itself in comment lines, its columns, and what a row is
// good for.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/csv/csv.h"

namespace orrery::verbs {

enum class Use {
  kHeldOut,     // no constant has seen it
  kFitted,      // constants were fitted on it: never counts as validation
  kUnverified,  // the figure is not confirmed: shown, never counted
};
inline constexpr std::array<std::string_view, 3> kUses = {"held-out", "fitted", "unverified"};
inline std::string_view name(Use use) {
  return kUses[static_cast<std::size_t>(use)];
}

struct MeasuredTable {
  std::string name;                    // of the file, without its suffix
  std::string title, source, licence;  // `# title: ...` and so on
  std::string calculon;                // `# calculon: 14.7 (55)`, where it was measured
  std::string rows;                    // `# rows: ...`: how many the source has, where some were left out
  formats::csv::Document document;
  std::vector<std::string> columns;
};

// Reads a CSV file whose columns are `known`, or begin with one of `prefixes`; all of `known` are needed, `note` apart.
// Finds what is missing or unknown (O1358), and rows of another length, which are left out.
MeasuredTable read_measured_table(const std::string& path, const std::vector<std::string>& known,
                                  const std::vector<std::string>& prefixes, base::Diagnostics& found);

// Which of `names` the cell has; 0 and O1358 where it has none.
std::size_t choice(const MeasuredTable& table, const formats::csv::Cell& cell, std::span<const std::string_view> names,
                   base::Diagnostics& found);

// Paths of the tables in a folder of the catalogue, sorted; `only` keeps those of these names. Throws InputError O1359
// for names that are none, with the nearest.
std::vector<std::string> measured_tables(const std::string& folder, const std::vector<std::string>& only);

// The same errors; those without a place are of the row that stands at `where`.
base::InputError in_row(const base::InputError& error, const base::Location& where);

}  // namespace orrery::verbs
