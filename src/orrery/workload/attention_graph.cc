// Idea: the matrix products of a layer in DFModel's shapes, with softmax between them; the feed-forward network has no
// kernel for its activation, so a gated model's gate is part of FFN1, which then reads twice the inner width.
#include "orrery/workload/attention_graph.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "orrery/workload/kernel_builder.h"

namespace orrery::workload {

using base::Count;

KernelGraph attention_graph(const TransformerShape& given, Count sequence) {
  base::Diagnostics found;
  const TransformerShape shape = completed(given, found);
  demand("the sequence", sequence, found);
  if (!found.has_errors() && shape.head_width != shape.hidden / shape.heads)
    found
        .error("O1483", fmt::format("{} heads of width {} are not {} wide together", shape.heads, shape.head_width,
                                    shape.hidden))
        .note("this graph has no projection between attention and the feed-forward network");
  found.throw_if_errors();
  const TransformerTensors t = tensors(shape, sequence, found);
  const double scores = static_cast<double>(CheckedSizes(found)(
      "the attention scores",
      {{"heads", shape.heads}, {"queries", sequence}, {"keys", sequence}, {"bytes", shape.word_bytes}}));
  found.throw_if_errors();

  const Count h = shape.hidden, a = shape.heads, g = shape.kv_heads, d = shape.head_width, s = sequence;
  KernelGraph graph;
  graph.kernels = {
      weight_product("Q", {a, d, h, s}, t.token, t.query_weight, t.query_token),
      weight_product("K", {g, d, h, s}, t.token, t.key_value_weight, t.key_value_token),
      weight_product("V", {g, d, h, s}, t.token, t.key_value_weight, t.key_value_token),
      product_of_two("MHA_GEMM_1", {a, s, d, s}, t.query_token, t.key_value_token, scores),
      elementwise("SOFTMAX", {a, s, 1, s}, scores, scores),
      product_of_two("MHA_GEMM_2", {a, d, s, s}, t.key_value_token, scores, t.query_token),
      weight_product("FFN0", {1, t.up, h, s}, t.token, t.up_weight, t.up_token),
      weight_product("FFN1", {1, h, shape.feed_forward, s}, t.up_token, t.down_weight, t.token),
  };
  graph.kernels[5].tiling = KernelDimension::kK;
  constexpr std::array<std::pair<int, int>, 7> kEdges = {{{1, 4}, {2, 4}, {4, 5}, {5, 6}, {3, 6}, {6, 7}, {7, 8}}};
  connect(graph, kEdges);
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
