// The layouts that make a layer fastest: measurements or a model of a machine in, a choice with its certificate out,
// and what Substation's own search would have lost.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/verbs/tune/select/answer.h"
#include "orrery/verbs/tune/select/request.h"

namespace orrery::verbs {

// Throws InputError: what formats::substation::read_folder says; O1717 (times whose sum leaves 64 bits), O1719 (a
// layout file that does not say what is asked), O1720 (a variable or layout that does not exist), O1726 (re-layouts
// without a bandwidth or sizes); what the system's files say; what modelled_layer says.
TunedSelection tune_select(const TuneSelectRequest& request);

double without_layouts_ms(const TunedSelection& answer);

// Why no choice is allowed (O1716), or why an evaluated one is not (O1721).
std::vector<base::Diagnostic> explain_no_selection(const TunedSelection& answer);

// The chosen layouts as Substation's layout file, in JSON. It has one layout for the three biases of keys, queries and
// values, and one for these themselves: where they differ, `warnings` gets O1753.
std::string layout_file(const TunedSelection& answer, const tuning::Selection& selection, base::Diagnostics& warnings);

}  // namespace orrery::verbs
