// Idea: the matrix products of a layer in DFModel's shapes, with softmax between them; the feed-forward network has no
// kernel for its activation, so a gated model's gate is part of FFN1, which then reads twice the inner width.
#include "orrery/describe/workload/graphs/attention_graph.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/layer_writer.h"

namespace orrery::workload {
namespace {

using base::Count;

bool is_plain(const Block& block, Count tokens) {
  const auto* a = std::get_if<Attention>(&block.mixer);
  return a != nullptr && std::holds_alternative<FeedForward>(block.feed_forward) && !block.cross && !a->latent &&
         !a->gated && a->qk_norm == QkNorm::kNone && a->width == a->value_width &&
         (a->reach == Reach::kAll || a->span >= tokens);
}

}  // namespace

KernelGraph attention_graph(const GraphLayers& layers, const GraphTokens& tokens) {
  base::Diagnostics found;
  demand("the sequence", tokens.tokens, found);
  demand("the bytes of an element (`word`)", tokens.word_bytes, found);
  found.throw_if_errors();
  const Block& block = *layers.blocks.front();
  if (!is_plain(block, tokens.tokens))
    base::fail("O1488", "a graph of kind `attention` has plain attention to all tokens and one feed-forward network",
               {}, "the kinds `llm`, `llm-fwd`, `llm-bwd` and `decode` have kernels for other layers");
  const auto& attention = std::get<Attention>(block.mixer);
  const auto& network = std::get<FeedForward>(block.feed_forward);
  const Count h = layers.width, a = attention.heads, g = attention.kv_heads, d = attention.width, s = tokens.tokens;
  if (a < 1 || h / a != d || h % a != 0)
    found.error("O1483", fmt::format("{} heads of width {} are not {} wide together", a, d, h))
        .note("this graph has no projection between attention and the feed-forward network");
  found.throw_if_errors();

  KernelGraph graph;
  LayerWriter out(graph, found, tokens.word_bytes, false, 1);
  LayerNodes nodes;
  out.begin("", nodes, Direction::kForward);
  const Count scores = out.elements("the attention scores", {a, s, s}), query = out.elements("the queries", {a, d, s}),
              key = out.elements("the keys", {g, d, s});
  const Count up = out.elements("the width of the feed-forward network", {network.gated ? 2 : 1, network.inner});
  Kernel second = out.weighted("FFN1", {1, h, network.inner, s});
  second.input_bytes = out.bytes(out.elements("the output of FFN0", {up, s}));
  for (const Kernel& kernel : {
           out.weighted("Q", {a, d, h, s}),
           out.weighted("K", {g, d, h, s}),
           out.weighted("V", {g, d, h, s}),
           out.product("MHA_GEMM_1", {a, s, d, s}, query, key),
           out.unary("SOFTMAX", {a, s, 1, s}, scores),
           out.product("MHA_GEMM_2", {a, d, s, s}, key, scores),
           out.weighted("FFN0", {1, up, h, s}),
           second,
       })
    out.add(kernel, {});
  graph.kernels[5].tiling = KernelDimension::kK;
  constexpr std::array<std::pair<int, int>, 7> kEdges = {{{1, 4}, {2, 4}, {4, 5}, {5, 6}, {3, 6}, {6, 7}, {7, 8}}};
  connect(graph, kEdges);
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
