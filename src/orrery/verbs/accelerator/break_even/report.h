// Answers of `sparse break-even`: a table, a picture, and the JSON document "orrery.sparse_break_even/1".
#pragma once

#include <string>

#include "orrery/verbs/accelerator/break_even/run.h"

namespace orrery::verbs {

struct BreakEvenDocument {
  std::string version;
  const BreakEven* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string break_even_json(const BreakEvenDocument& document);
std::string break_even_table(const BreakEven& answer);
// A panel for each structure: lengths by densities, coloured by what sparse gains over the fastest dense attention.
std::string break_even_svg(const BreakEven& answer);

}  // namespace orrery::verbs
