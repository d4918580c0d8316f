// Idea: the table of DFModel's generators, kernel by kernel, with two additional widths.
//
// All kernels have N = s tokens and are tiled along it; with h hidden, a heads of width d, m the inner width and w
// bytes an element, DFModel's sizes are h s w for what passes between kernels, a s^2 w for scores, m s w inside the
// feed-forward network. Weight updates reduce over the tokens (K = s) and are tiled along K.
//
// Oddities of the original are kept: there is no LayerNorm_1_bwd, updates of Q, K and V read the gradients of the
// attention products, Loss_bwd depends on no forward kernel, and the residual's gradient is not added.
//
// Where this goes beyond DFModel:
// - Widths. Q has a d rows, K and V g d for g key/value heads; the backward products by weights are written so that
//   they coincide with DFModel's where a d = g d = h and always make h rows: Q_bwd outer = a, M = h / a, K = a d,
//   K_bwd the same with K = g d, V_bwd M = h, K = g d. The gradients of keys and values reduce over the tokens of all
//   a / g query heads that share them.
// - Gated models: FFN0 makes gate and up projection side by side (2 m rows), GeLU halves them, its backward doubles.
// - Several layers in one graph: Add_2 of a layer leads to Add_Prev_Layer of the next; V_bwd, Q_bwd and K_bwd, which
//   hold the gradient of a layer's input, lead to Loss_bwd of the layer before.
//
// Cost: one step a kernel and edge.
#include "orrery/workload/language_model_graph.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "orrery/workload/kernel_builder.h"

namespace orrery::workload {
namespace {

using base::Count;
using Numbers = std::pair<int, int>;

constexpr int kForwardKernels = 18;
constexpr int kBackwardKernels = 23;

constexpr std::array<Numbers, 21> kForwardEdges = {
    {{1, 2},   {2, 3},   {2, 4},  {2, 5},   {3, 6},   {4, 6},   {6, 7},   {7, 8},   {5, 9},   {8, 9},  {9, 10},
     {10, 11}, {11, 12}, {1, 12}, {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17}, {17, 18}, {12, 18}}};

constexpr std::array<Numbers, 32> kBackwardEdges = {
    {{19, 20}, {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {26, 27}, {5, 27},  {26, 28}, {8, 28},
     {27, 30}, {28, 29}, {30, 31}, {31, 32}, {31, 33}, {4, 32},  {3, 33},  {32, 34}, {33, 35}, {20, 36}, {15, 36},
     {22, 37}, {13, 37}, {25, 38}, {9, 38},  {28, 39}, {2, 39},  {33, 40}, {2, 40},  {32, 41}, {2, 41}}};

// Kernels that hold the gradient of the layer's input: V_bwd, Q_bwd, K_bwd.
constexpr std::array<int, 3> kGradients = {29, 34, 35};
constexpr int kFirstBackward = 19;  // Loss_bwd

struct Layer {
  TransformerShape shape;
  TransformerTensors sizes;
  Count sequence = 0;
  Count group_tokens = 0;  // of all query heads that share a key head
  double scores = 0;       // bytes
};

std::vector<Kernel> forward_kernels(const Layer& layer) {
  const Count h = layer.shape.hidden, a = layer.shape.heads, g = layer.shape.kv_heads, d = layer.shape.head_width;
  const Count m = layer.shape.feed_forward, s = layer.sequence, q = layer.sizes.query, up = layer.sizes.up;
  const TransformerTensors& t = layer.sizes;
  const KernelSpace stream{1, h, 1, s};
  return {
      elementwise("Add_Prev_Layer", stream, t.token, t.token),
      elementwise("LayerNorm_1", stream, t.token, t.token),
      weight_product("Q", {a, d, h, s}, t.token, t.query_weight, t.query_token),
      weight_product("K", {g, d, h, s}, t.token, t.key_value_weight, t.key_value_token),
      weight_product("V", {g, d, h, s}, t.token, t.key_value_weight, t.key_value_token),
      product_of_two("MHA_GEMM_1", {a, s, d, s}, t.query_token, t.key_value_token, layer.scores),
      elementwise("SOFTMAX", {a, s, 1, s}, layer.scores, layer.scores),
      elementwise("DropOut_1", {a, s, 1, s}, layer.scores, layer.scores),
      product_of_two("MHA_GEMM_2", {a, d, s, s}, t.key_value_token, layer.scores, t.query_token),
      weight_product("PROJ_GEMM", {1, h, q, s}, t.query_token, t.output_weight, t.token),
      elementwise("DropOut_2", stream, t.token, t.token),
      elementwise_of_two("Add_1", stream, t.token, t.token, t.token),
      elementwise("LayerNorm_2", stream, t.token, t.token),
      weight_product("FFN0", {1, up, h, s}, t.token, t.up_weight, t.up_token),
      elementwise("GeLU", {1, m, 1, s}, t.up_token, t.inner_token),
      weight_product("FFN1", {1, h, m, s}, t.inner_token, t.down_weight, t.token),
      elementwise("DropOut_3", stream, t.token, t.token),
      elementwise_of_two("Add_2", stream, t.token, t.token, t.token),
  };
}

// The gradient of `rows` x `columns` weights, summed over the tokens and over the replicas.
Kernel weight_update(const std::string& of, Count rows, Count columns, Count sequence, double first, double second,
                     double weight) {
  Kernel kernel = product_of_two(of + "_bwd_weight_update", {1, rows, sequence, columns}, first, second, weight);
  kernel.tiling = KernelDimension::kK;
  kernel.communication = Communication::kPeriodicAllReduce;
  kernel.communication_bytes = weight;
  return kernel;
}

std::vector<Kernel> backward_kernels(const Layer& layer) {
  const Count h = layer.shape.hidden, a = layer.shape.heads, g = layer.shape.kv_heads, d = layer.shape.head_width;
  const Count m = layer.shape.feed_forward, s = layer.sequence;
  const Count q = layer.sizes.query, kv = layer.sizes.key_value, up = layer.sizes.up;
  const TransformerTensors& t = layer.sizes;
  const KernelSpace stream{1, h, 1, s};
  std::vector<Kernel> kernels = {
      elementwise("Loss_bwd", stream, t.token, t.token),
      elementwise("DropOut_3_bwd", stream, t.token, t.token),
      weight_product("FFN1_bwd", {1, m, h, s}, t.token, t.down_weight, t.inner_token),
      elementwise("GeLU_bwd", {1, up, 1, s}, t.inner_token, t.up_token),
      weight_product("FFN0_bwd", {1, h, up, s}, t.up_token, t.up_weight, t.token),
      elementwise("LayerNorm_2_bwd", stream, t.token, t.token),
      elementwise("DropOut_2_bwd", stream, t.token, t.token),
      weight_product("PROJ_GEMM_bwd", {1, q, h, s}, t.token, t.output_weight, t.query_token),
      product_of_two("MHA_GEMM_2_bwd1", {a, s, d, s}, t.query_token, t.key_value_token, layer.scores),
      product_of_two("MHA_GEMM_2_bwd2", {g, d, layer.group_tokens, s}, t.query_token, layer.scores, t.key_value_token),
      weight_product("V_bwd", {1, h, kv, s}, t.key_value_token, t.key_value_weight, t.token),
      elementwise("DropOut_1_bwd", {a, s, 1, s}, layer.scores, layer.scores),
      elementwise("SOFTMAX_bwd", {a, s, 1, s}, layer.scores, layer.scores),
      product_of_two("MHA_GEMM_1_bwd1", {a, d, s, s}, layer.scores, t.key_value_token, t.query_token),
      product_of_two("MHA_GEMM_1_bwd2", {g, d, layer.group_tokens, s}, layer.scores, t.query_token, t.key_value_token),
      weight_product("Q_bwd", {a, h / a, q, s}, t.query_token, t.query_weight, t.token),
      weight_product("K_bwd", {a, h / a, kv, s}, t.key_value_token, t.key_value_weight, t.token),
      weight_update("FFN1", m, h, s, t.token, t.inner_token, t.down_weight),
      weight_update("FFN0", h, up, s, t.up_token, t.token, t.up_weight),
      weight_update("PROJ_GEMM", q, h, s, t.token, t.query_token, t.output_weight),
      weight_update("V", h, kv, s, t.key_value_token, t.token, t.key_value_weight),
      weight_update("K", h, kv, s, t.key_value_token, t.token, t.key_value_weight),
      weight_update("Q", h, q, s, t.query_token, t.token, t.query_weight),
  };
  for (Kernel& kernel : kernels) kernel.direction = Direction::kBackward;
  return kernels;
}

void append(KernelGraph& graph, std::vector<Kernel> kernels, int layer, Count layers) {
  for (Kernel& kernel : kernels) {
    if (layers > 1) kernel.name += fmt::format("_layer_{}", layer + 1);
    graph.kernels.push_back(std::move(kernel));
  }
}

}  // namespace

KernelGraph language_model_graph(const TransformerShape& given, Count sequence, Passes passes, Count layers) {
  const bool forward = passes != Passes::kBackward;
  const bool backward = passes != Passes::kForward;
  const int each = (forward ? kForwardKernels : 0) + (backward ? kBackwardKernels : 0);
  base::Diagnostics found;
  Layer layer;
  layer.shape = completed(given, found);
  layer.sequence = sequence;
  demand("the sequence", sequence, found);
  demand("the number of layers in the graph", layers, found);
  demand_few("layers", layers, each, found);
  found.throw_if_errors();

  const TransformerShape& shape = layer.shape;
  layer.sizes = tensors(shape, sequence, found);
  layer.group_tokens =
      CheckedSizes(found)("the queries of a group", {{"heads", shape.heads / shape.kv_heads}, {"tokens", sequence}});
  layer.scores = static_cast<double>(CheckedSizes(found)(
      "the attention scores",
      {{"heads", shape.heads}, {"queries", sequence}, {"keys", sequence}, {"bytes", shape.word_bytes}}));
  found.throw_if_errors();

  KernelGraph graph;
  const int count = static_cast<int>(layers);
  const int first_backward = forward ? count * kForwardKernels : 0;
  // Number, from 1 in the whole graph, of kernel `number` of layer `at`.
  const auto number_of = [&](int at, int number) {
    if (number < kFirstBackward) return at * kForwardKernels + number;
    return first_backward + (count - 1 - at) * kBackwardKernels + number - kForwardKernels;
  };
  const auto join = [&](int from_layer, int from, int to_layer, int to) {
    graph.edges.push_back({.from = number_of(from_layer, from) - 1, .to = number_of(to_layer, to) - 1});
  };
  if (forward)
    for (int at = 0; at < count; ++at) {
      append(graph, forward_kernels(layer), at, layers);
      for (const auto& [from, to] : kForwardEdges) join(at, from, at, to);
      if (at + 1 < count) join(at, kForwardKernels, at + 1, 1);
    }
  if (backward)
    for (int at = count - 1; at >= 0; --at) {
      append(graph, backward_kernels(layer), at, layers);
      for (const auto& [from, to] : kBackwardEdges)
        if (forward || from >= kFirstBackward) join(at, from, at, to);
      if (at == 0) continue;
      for (int gradient : kGradients) join(at, gradient, at - 1, kFirstBackward);
    }
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
