// Idea: DFModel's table of the decode phase. Every kernel works on one token (N = 1); K_cache and V_cache stand for the
// cache, elementwise kernels of `context` columns, done by the matrix units so that they take no vector lanes.
//
// Memory that the edges do not show is stated: weights w h^2 and w h m bytes and the cache w g d (context - 1) bytes,
// each divided by the number of chips that share the layer. Grouped queries and gated networks as in
// language_model_graph.cc.
#include "orrery/workload/decode_graph.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "orrery/workload/kernel_builder.h"

namespace orrery::workload {
namespace {

using base::Count;

constexpr int kKernels = 20;
constexpr std::array<std::pair<int, int>, 23> kEdges = {{{1, 2},   {2, 3},   {2, 4},   {2, 5},   {4, 6},   {5, 7},
                                                         {3, 8},   {6, 8},   {8, 9},   {9, 10},  {10, 11}, {7, 11},
                                                         {11, 12}, {12, 13}, {13, 14}, {14, 15}, {1, 14},  {15, 16},
                                                         {16, 17}, {17, 18}, {18, 19}, {19, 20}, {14, 20}}};

struct Step {
  TransformerShape shape;
  TransformerTensors sizes;
  Count context = 0;
  double chips = 1;
  double cache = 0, scores = 0;  // bytes
  double cache_read = 0;         // bytes, of all chips
};

Kernel stored(Kernel kernel, double bytes, double chips) {
  kernel.memory_bytes = bytes / chips;
  return kernel;
}

Kernel cache(const char* name, const Step& step) {
  Kernel kernel = elementwise(name, {step.shape.kv_heads, step.shape.head_width, 1, step.context},
                              step.sizes.key_value_token, step.cache);
  kernel.unit = KernelUnit::kSystolic;
  return stored(std::move(kernel), step.cache_read, step.chips);
}

std::vector<Kernel> kernels(const Step& step) {
  const Count h = step.shape.hidden, a = step.shape.heads, g = step.shape.kv_heads, d = step.shape.head_width;
  const Count m = step.shape.feed_forward, q = step.sizes.query, up = step.sizes.up, context = step.context;
  const TransformerTensors& t = step.sizes;
  const KernelSpace stream{1, h, 1, 1};
  const auto weighted = [&](const char* name, KernelSpace space, double input, double weight, double output) {
    return stored(weight_product(name, space, input, weight, output), weight, step.chips);
  };
  return {
      elementwise("Add_Prev_Layer", stream, t.token, t.token),
      elementwise("LayerNorm_1", stream, t.token, t.token),
      weighted("Q", {a, d, h, 1}, t.token, t.query_weight, t.query_token),
      weighted("K", {g, d, h, 1}, t.token, t.key_value_weight, t.key_value_token),
      weighted("V", {g, d, h, 1}, t.token, t.key_value_weight, t.key_value_token),
      cache("K_cache", step),
      cache("V_cache", step),
      product_of_two("MHA_GEMM_1", {a, 1, d, context}, t.query_token, step.cache, step.scores),
      elementwise("SOFTMAX", {a, 1, 1, context}, step.scores, step.scores),
      elementwise("DropOut_1", {a, 1, 1, context}, step.scores, step.scores),
      product_of_two("MHA_GEMM_2", {a, d, context, 1}, step.cache, step.scores, t.query_token),
      weighted("PROJ_GEMM", {1, h, q, 1}, t.query_token, t.output_weight, t.token),
      elementwise("DropOut_2", stream, t.token, t.token),
      elementwise_of_two("Add_1", stream, t.token, t.token, t.token),
      elementwise("LayerNorm_2", stream, t.token, t.token),
      weighted("FFN0", {1, up, h, 1}, t.token, t.up_weight, t.up_token),
      elementwise("GeLU", {1, m, 1, 1}, t.up_token, t.inner_token),
      weighted("FFN1", {1, h, m, 1}, t.inner_token, t.down_weight, t.token),
      elementwise("DropOut_3", stream, t.token, t.token),
      elementwise_of_two("Add_2", stream, t.token, t.token, t.token),
  };
}

}  // namespace

KernelGraph decode_graph(const TransformerShape& given, Count context, Count chips, Count layers) {
  base::Diagnostics found;
  Step step;
  step.shape = completed(given, found);
  step.context = context;
  step.chips = static_cast<double>(chips);
  demand("the context", context, found);
  demand("the number of chips", chips, found);
  demand("the number of layers in the graph", layers, found);
  demand_few("layers", layers, kKernels, found);
  found.throw_if_errors();

  const TransformerShape& shape = step.shape;
  step.sizes = tensors(shape, 1, found);
  CheckedSizes sizes(found);
  const auto cached = [&](const char* what, Count tokens) {
    return static_cast<double>(
        sizes(what, {{"width", step.sizes.key_value}, {"tokens", tokens}, {"bytes", shape.word_bytes}}));
  };
  step.cache = cached("the keys of the context", context);
  step.cache_read = cached("the cache", context - 1);
  step.scores = static_cast<double>(
      sizes("the attention scores", {{"heads", shape.heads}, {"context", context}, {"bytes", shape.word_bytes}}));
  found.throw_if_errors();

  KernelGraph graph;
  for (Count layer = 0; layer < layers; ++layer) {
    const int base = static_cast<int>(layer) * kKernels;
    for (Kernel& kernel : kernels(step)) {
      if (layers > 1) kernel.name += fmt::format("_layer_{}", layer + 1);
      graph.kernels.push_back(std::move(kernel));
    }
    for (const auto& [from, to] : kEdges) graph.edges.push_back({.from = base + from - 1, .to = base + to - 1});
    if (layer + 1 < layers) graph.edges.push_back({.from = base + kKernels - 1, .to = base + kKernels});
  }
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
