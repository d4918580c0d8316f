// Idea: DFModel's table of the decode phase. Every kernel works on one token (N = 1); K_cache and V_cache stand for the
// cache, elementwise kernels of `context` columns, done by the matrix units so that they take no vector lanes.
//
// Memory that the edges do not show is stated: weights (of a mixture those of the experts that are visited) and the
// cache of context - 1 tokens, each divided by the number of chips that share the layer. The kernels are
// block_kernels.h's.
#include "orrery/describe/workload/graphs/decode_graph.h"

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {

using base::Count;

KernelGraph decode_graph(const GraphLayers& layers, const GraphTokens& tokens) {
  base::Diagnostics found;
  demand("the context", tokens.tokens, found);
  demand("the number of chips", tokens.chips, found);
  demand("the bytes of an element (`word`)", tokens.word_bytes, found);
  demand("the number of layers in the graph", static_cast<Count>(layers.blocks.size()), found);
  if (tokens.source != 0) demand("the tokens of the encoder's output", tokens.source, found);
  found.throw_if_errors();

  KernelGraph graph;
  LayerWriter writer(graph, found, tokens.word_bytes, true, tokens.chips);
  LayerContext layer{writer, layers.width, {1, tokens.tokens, tokens.source > 0 ? tokens.source : tokens.tokens}};
  int previous = kNoNode;
  for (std::size_t at = 0; at < layers.blocks.size(); ++at) {
    LayerNodes nodes;
    writer.begin(layers.blocks.size() > 1 ? fmt::format("_layer_{}", at + 1) : "", nodes, Direction::kForward);
    previous = forward_kernels(layer, *layers.blocks[at], previous);
    if (static_cast<Count>(graph.kernels.size()) > kMostKernels)
      demand_few("layers", static_cast<Count>(layers.blocks.size()), static_cast<Count>(graph.kernels.size()), found);
    found.throw_if_errors();
  }
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
