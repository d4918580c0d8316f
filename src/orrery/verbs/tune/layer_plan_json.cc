#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {


Record<LayerPlan> layer_plan() {
  return {{"runs", "The faster of the two.",
           [](const LayerPlan& p) { return std::string(p.built_in() ? "built-in" : "layouts"); },
           OneOf{{"built-in", "layouts"}}},
          {"built_in_ms", "The built-in layer, forward and backward; measured.", &LayerPlan::built_in_ms},
          {"layouts_ms", "The best choice of layouts: the sum of measured operators.", &LayerPlan::layouts_ms},
          {"file", "Where it is kept; null: nowhere.",
           [](const LayerPlan& p) { return p.file.empty() ? std::nullopt : std::optional(p.file); }}};
}

}  // namespace orrery::verbs
