// What `sparse run` is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/engines/masks/measure.h"
#include "orrery/engines/masks/packing/packing.h"
#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

struct SparseRunRequest {
  TextRequest texts;  // `task` and `data`'s labels are not looked at
  masks::MeasureDefects defects;
  std::vector<std::string> compat;
  int repeat = 3;                                                                    // of what is timed
  std::vector<std::string> packings = {"pack", "compact64", "row_chunks"};           // of packing_names()
  std::function<void(const std::string& name, const std::string& bytes)> keep_mask;  // null: masks are not kept
};

}  // namespace orrery::verbs
