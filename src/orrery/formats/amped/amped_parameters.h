// From what config.json and the tables say to the quantities of AMPeD's equations.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "orrery/engines/amped/equations.h"
#include "orrery/formats/amped/amped_config.h"
#include "orrery/formats/amped/lookup_tables.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

enum class Origin { kAbsent, kValue, kTable, kCalculated };

// A parameter that no equation uses, as it stands in the file.
struct Other {
  equations::Category category;
  std::string name, value, description;
};

struct Resolved {
  equations::Quantities quantities;
  // By position in `amped_quantities`:
  std::vector<bool> keep;  // given, or calculated by a rule of the file's own: no formula may change it
  std::vector<Origin> origin;
  std::vector<std::string> description;                        // the file's, else the equations' own
  std::vector<base::Location> where;                           // of the value; unknown for what is not in a file
  std::vector<Other> others;                                   // by category and name
  std::string transformer = "custom", accelerator = "custom";  // rows of tables
};

// AMPeD's order: a parameter that stands in a table is looked up; else one marked as calculated is calculated; else its
// value counts, and takes precedence over any formula. What the file leaves out is calculated where the equations can.
// Quantities that AMPeD wants stated may be marked as calculated, too, where `amped_inverses` has a rule.
//
// Throws InputError with all that is wrong: the codes of `look_up`, O1331 calculated but no rule is known, O1332 no
// value, O1333 a value that is not a number, has an unknown unit or lies outside what the quantity may be, O1334
// calculations that depend on each other in a circle, O1335 quantities missing, O1338 more accelerators
// used than there are. Warnings: O1336 a unit of another kind
// than the quantity's, O1337 marked as calculated but unused, so that no rule is needed.
Resolved resolve(const Config& config, const LookupTables& tables, const equations::Defects& defects,
                 base::Diagnostics& found);

// The flat `config` of equation tests: an object of numbers (or unit texts) by AMPeD's names, with short names for the
// degrees ("tp_intra"); or an object whose `config` is that. Throws InputError: O1320, O1323, O1325 (unknown names are
// errors here) and those of `resolve`.
Resolved resolve_flat(const File& file, const Overrides& overrides, const equations::Defects& defects,
                      base::Diagnostics& found);

}  // namespace orrery::formats::amped
