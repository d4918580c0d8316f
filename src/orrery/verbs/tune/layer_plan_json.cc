#include "orrery/verbs/tune/layer_plan_json.h"

#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

Record<layer::Shape> sizes_of_layer() {
  using layer::Shape;
  return {{"batch", "Sequences of a batch.", &Shape::batch},
          {"seq", "Tokens of a sequence.", &Shape::length},
          {"width", "Elements of a token.", &Shape::width},
          {"heads", "Heads of queries.", &Shape::heads},
          {"kv_heads", "Heads of keys and values.", &Shape::kv_heads},
          {"head_width", "Elements of a head.", &Shape::head},
          {"ffn", "Width of the feed-forward network.", &Shape::hidden},
          {"activation", "Activation function of the feed-forward network.",
           [](const Shape& s) { return activation_name(s.activation); }},
          {"gated", "Whether a gate multiplies the activation.", &Shape::gated},
          {"norms", "Where norms stand: before or after attention and feed-forward network.",
           [](const Shape& s) { return s.norms == layer::Place::kPost ? "post" : "pre"; }, OneOf{{"post", "pre"}}},
          {"causal", "Whether tokens see only those before them.", &Shape::causal},
          {"cross", "Whether attention to an encoder's output follows.", &Shape::cross}};
}

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
