// How a layer is best run on this machine, kept between runs: built in, or operator by operator in layouts that were
// measured and chosen. `tune select` keeps what it proves of a folder that `tune bench` filled here; `tune run` trains
// by it.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/verbs/tune/tune_store.h"

namespace orrery::verbs {

struct LayerPlan {
  double built_in_ms = 0, layouts_ms = 0;  // measured: the built-in layer; the sum over operators in the best layouts
  std::string file;                        // where it is kept; empty: nowhere
  std::string layouts;                     // the layout file beside it; empty where the built-in layer is faster

  bool built_in() const { return built_in_ms <= layouts_ms; }
  double predicted_ms() const { return built_in() ? built_in_ms : layouts_ms; }
};

// $ORRERY_CACHE, else $XDG_CACHE_HOME/orrery, else ~/.cache/orrery; empty where none of them is set.
std::string cache_folder();

// What was measured of the built-in layer in a folder of `tune bench`, in ms; nothing where it was not.
std::optional<double> built_in_ms(const std::string& folder);

// Keeps the plan that follows from a folder's measurements, if it was measured on this processor: `layout_text` is the
// layout file of its best choice. Warns with O1760 where the cache cannot be written. Nothing where the folder has no
// measurement of the built-in layer, or has one of another machine.
std::optional<LayerPlan> keep_plan(const std::string& folder, double layouts_ms, const std::string& layout_text,
                                   base::Diagnostics& warnings);

// The plan of a machine and sizes; nothing where there is none. Warns with O1761 of a file that is no plan.
std::optional<LayerPlan> find_plan(const MachineKey& key, base::Diagnostics& warnings);

}  // namespace orrery::verbs
