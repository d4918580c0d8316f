// A study as a document, `study.yaml`:
//
//   study:
//     version: 1
//     title: how much memory an array wants
//     verb: map                       # map, energy, train, place; default map
//     files: [arch.yaml, layers/]     # of the verb
//     base: {model: bert-large, seq: 512}     # its options
//     vary:                           # multiplied
//       arch.Scratchpad.depth: 16Ki..64Ki:x2
//       arch.PERows.meshY: [8, 16, 32]
//     where: [...]
//     budgets: {area: 4e6}
//     objectives: [edp, energy]
//
// `vary` as a list multiplies its entries; the fields of one entry go side by side.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

// Whether a text is such a document.
bool is_study(const base::SourceFile& file);

// Throws InputError: O0101 for no YAML, O2045 for keys and values that are none, and what the parts say.
Study read_study(const std::shared_ptr<const base::SourceFile>& file);

// As a document, with the verb's arguments as they are.
std::string study_text(const Study& study);

// `--vary PATH=VALUES[;PATH=VALUES]`: a group.
Group read_vary(const std::string& text);
// `--budget FIGURE=NUMBER`.
Budget read_budget(const std::string& name, const std::string& value, const base::Location& name_where,
                   const base::Location& value_where);

}  // namespace orrery::sweep
