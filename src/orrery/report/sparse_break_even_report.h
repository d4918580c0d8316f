// Answers of `sparse break-even`: a table, a picture, and the JSON document "orrery.sparse_break_even/1".
#pragma once

#include <string>

#include "orrery/scenario/sparse_break_even.h"

namespace orrery::report {

struct BreakEvenDocument {
  std::string version;
  const scenario::BreakEven* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string break_even_json(const BreakEvenDocument& document);
std::string break_even_table(const scenario::BreakEven& answer);
// A panel for each structure: lengths by densities, coloured by what sparse gains over the fastest dense attention.
std::string break_even_svg(const scenario::BreakEven& answer);

}  // namespace orrery::report
