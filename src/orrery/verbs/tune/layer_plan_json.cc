#include "orrery/verbs/tune/layer_plan_json.h"

namespace orrery::verbs {

Record<LayerPlan> layer_plan() {
  return {{"runs", "The faster of the two: `built-in` or `layouts`.",
           [](const LayerPlan& p) { return std::string(p.built_in() ? "built-in" : "layouts"); },
           OneOf{{"built-in", "layouts"}}},
          {"built_in_ms", "Time of the built-in layer, forward and backward, measured, in milliseconds.",
           &LayerPlan::built_in_ms},
          {"layouts_ms", "Time of the best choice of layouts: the sum of its measured operators, in milliseconds.",
           &LayerPlan::layouts_ms},
          {"file", "File in which the plan is kept; null: it is not kept.",
           [](const LayerPlan& p) { return p.file.empty() ? std::nullopt : std::optional(p.file); }}};
}

}  // namespace orrery::verbs
