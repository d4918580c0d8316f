// What `tune select` is asked.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/runtime/tuning/selection/layout_conversion.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/verbs/tune/select/select_modelled.h"

namespace orrery::verbs {

struct TuneSelectRequest {
  std::string folder;                                       // of measurements, or
  std::optional<ModelledRequest> modelled;                  // a layer whose times are modelled
  std::vector<std::string> modes;                           // of fp_first, bp_first, combined; empty: all
  std::vector<std::string> split_vars;                      // of combined
  std::vector<std::string> why;                             // VARIABLE=LAYOUT
  std::string evaluate;                                     // a layout file, "" for none
  bool relayout = false;                                    // also the best choice with re-layouts
  double relayout_bytes_per_s = 0;                          // 0: of `system`
  std::string system;                                       // of the catalogue or a file; of `modelled`, too
  base::Limits limits;                                      // threads <= 0: all cores
  std::function<const std::atomic<bool>*()> interruptible;  // called before what takes long, reading included
};

}  // namespace orrery::verbs
