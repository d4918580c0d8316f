// Idea: name every product of sizes once, checked, so that the generators only pair kernels with tensors.
//
// With h the width, a heads of width d, g key/value heads, m the inner width, w bytes an element and s tokens: DFModel
// has a d = g d = h throughout (tensors h s w, weights h^2 w, h m w). Grouped queries (Ainslie et al., "GQA", 2023)
// narrow keys and values to g d; gating (Shazeer, "GLU variants", 2020) makes FFN0 twice as wide.
#include "orrery/workload/transformer_shape.h"

#include <fmt/format.h>

#include "orrery/workload/kernel_builder.h"

namespace orrery::workload {

using base::Count;

TransformerShape completed(TransformerShape shape, base::Diagnostics& found) {
  if (shape.kv_heads == 0) shape.kv_heads = shape.heads;
  if (shape.feed_forward == 0 && __builtin_mul_overflow(Count{4}, shape.hidden, &shape.feed_forward)) {
    CheckedSizes sizes(found);
    sizes("the feed-forward width", {{"default", 4}, {"hidden", shape.hidden}});
    return shape;
  }
  demand("the width of the model (`hidden`)", shape.hidden, found);
  demand("the number of heads", shape.heads, found);
  if (shape.head_width < 0) demand("the width of a head", shape.head_width, found);
  if (shape.hidden > 0) demand("the feed-forward width", shape.feed_forward, found);
  demand("the bytes of an element (`word`)", shape.word_bytes, found);
  if (shape.heads > 0) demand("the number of key/value heads", shape.kv_heads, found);
  if (shape.hidden < 1 || shape.heads < 1 || shape.kv_heads < 1) return shape;

  if (shape.hidden % shape.heads != 0)
    found.error("O1483", fmt::format("{} heads do not divide the model's width {}", shape.heads, shape.hidden))
        .note(fmt::format("{} / {} leaves {}", shape.hidden, shape.heads, shape.hidden % shape.heads));
  if (shape.heads % shape.kv_heads != 0)
    found.error("O1483", fmt::format("{} key/value heads do not divide {} query heads", shape.kv_heads, shape.heads))
        .note(fmt::format("{} / {} leaves {}: each key/value head serves the same number of query heads", shape.heads,
                          shape.kv_heads, shape.heads % shape.kv_heads));
  if (shape.head_width == 0) shape.head_width = shape.hidden / shape.heads;
  return shape;
}

TransformerTensors tensors(const TransformerShape& shape, Count tokens, base::Diagnostics& found) {
  CheckedSizes sizes(found);
  const Count h = shape.hidden, m = shape.feed_forward, w = shape.word_bytes;
  TransformerTensors out;
  out.query = sizes("the width of all queries", {{"heads", shape.heads}, {"head width", shape.head_width}});
  out.key_value =
      sizes("the width of all keys", {{"key/value heads", shape.kv_heads}, {"head width", shape.head_width}});
  out.up = sizes("the width of the feed-forward network", {{"projections", shape.gated ? 2 : 1}, {"inner width", m}});
  const auto activation = [&](const char* what, Count width) {
    return static_cast<double>(sizes(what, {{"width", width}, {"tokens", tokens}, {"bytes", w}}));
  };
  out.token = activation("the residual stream", h);
  out.query_token = activation("the queries", out.query);
  out.key_value_token = activation("the keys", out.key_value);
  out.up_token = activation("the output of FFN0", out.up);
  out.inner_token = activation("the input of FFN1", m);
  const auto weight = [&](const char* what, Count rows, Count columns) {
    return static_cast<double>(sizes(what, {{"rows", rows}, {"columns", columns}, {"bytes", w}}));
  };
  out.query_weight = weight("the weight of Q", out.query, h);
  out.key_value_weight = weight("the weight of K", out.key_value, h);
  out.output_weight = weight("the weight of PROJ_GEMM", h, out.query);
  out.up_weight = weight("the weight of FFN0", out.up, h);
  out.down_weight = weight("the weight of FFN1", h, m);
  return out;
}

}  // namespace orrery::workload
