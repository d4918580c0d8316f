// Answers of `sparse break-even`: a table, a picture, and the JSON document "orrery.sparse_break_even/1".
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/break_even/run.h"

namespace orrery::verbs {

Document<BreakEven> break_even_document();
std::string break_even_table(const BreakEven& answer);
// A panel for each structure: lengths by densities, coloured by what sparse gains over the fastest dense attention.
std::string break_even_svg(const BreakEven& answer);

}  // namespace orrery::verbs
