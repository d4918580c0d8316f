// Idea: layers one after the other, each from block_kernels.h.
//
// Several layers in one graph: the last kernel of a layer (Add_2) leads to Add_Prev_Layer of the next; the kernels that
// hold the gradient of a layer's input (of plain attention V_bwd, Q_bwd and K_bwd) lead to Loss_bwd of the layer
// before. Cost: one step a kernel and edge.
#include "orrery/describe/workload/graphs/language_model_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {
namespace {

using base::Count;

// Without the first `count` kernels.
void drop_first(KernelGraph& graph, int count) {
  graph.kernels.erase(graph.kernels.begin(), graph.kernels.begin() + count);
  std::erase_if(graph.edges, [&](const KernelEdge& edge) { return edge.from < count || edge.to < count; });
  for (KernelEdge& edge : graph.edges) {
    edge.from -= count;
    edge.to -= count;
  }
}

}  // namespace

GraphLayers layers_of(const Stack& stack, Count first, Count count, base::Diagnostics& found) {
  GraphLayers out{stack.width, {}};
  demand("the number of layers in the graph", count, found);
  demand_few("layers", count, 1, found);
  if (found.has_errors()) return out;
  const auto layers = static_cast<Count>(stack.layers.size());
  if (first < 0 || first >= layers || count > layers - first) {
    found
        .error("O1489", fmt::format("the {} has {} layer{}, and {} wanted", stack.name.empty() ? "model" : stack.name,
                                    layers, base::plural(layers),
                                    count == 1 ? fmt::format("layer {} is", first + 1)
                                               : fmt::format("layers {} to {} are", first + 1, first + count)))
        .hint(fmt::format("layers are counted from 1 to {}", layers));
    return out;
  }
  for (Count i = 0; i < count; ++i)
    out.blocks.push_back(&stack.kinds[static_cast<std::size_t>(stack.layers[static_cast<std::size_t>(first + i)])]);
  return out;
}

KernelGraph language_model_graph(const GraphLayers& layers, const GraphTokens& tokens, Passes passes) {
  base::Diagnostics found;
  demand("the sequence", tokens.tokens, found);
  demand("the bytes of an element (`word`)", tokens.word_bytes, found);
  demand("the number of layers in the graph", static_cast<Count>(layers.blocks.size()), found);
  if (tokens.source != 0) demand("the tokens of the encoder's output", tokens.source, found);
  demand("the number of chips", tokens.chips, found);
  found.throw_if_errors();

  KernelGraph graph;
  LayerWriter writer(graph, found, tokens.word_bytes, false, tokens.chips);
  LayerContext layer{
      writer, layers.width, {tokens.tokens, tokens.tokens, tokens.source > 0 ? tokens.source : tokens.tokens}};
  const std::size_t count = layers.blocks.size();
  std::vector<LayerNodes> nodes(count);
  const auto begin = [&](std::size_t at, Direction direction) {
    writer.begin(count > 1 ? fmt::format("_layer_{}", at + 1) : "", nodes[at], direction);
  };
  const auto check = [&] {
    if (static_cast<Count>(graph.kernels.size()) > kMostKernels)
      demand_few("layers", static_cast<Count>(count), static_cast<Count>(graph.kernels.size()), found);
    found.throw_if_errors();
  };
  int previous = kNoNode;
  for (std::size_t at = 0; at < count; ++at) {
    begin(at, Direction::kForward);
    previous = forward_kernels(layer, *layers.blocks[at], previous);
    check();
  }
  const int forward = static_cast<int>(graph.kernels.size());
  if (passes != Passes::kForward) {
    std::vector<int> gradients;
    for (std::size_t at = count; at-- > 0;) {
      begin(at, Direction::kBackward);
      gradients = backward_kernels(layer, *layers.blocks[at], gradients);
      check();
    }
  }
  if (passes == Passes::kBackward) drop_first(graph, forward);
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
