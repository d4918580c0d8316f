// A shape is told by letters, one per dimension and kernel, and a letter must stand for the same number wherever it
// occurs: h hidden, a heads, d head width, f feed-forward width, s sequence, c context, 1 one. So every size fits, and
// names do not matter. Source of shapes and shardings: docs/model/dataflow.md, section "Sharding".
#include "orrery/engines/dataflow/search/reference_sharding.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace orrery::dataflow {
namespace {

using workload::Kernel;
using workload::KernelDimension;
using workload::KernelGraph;
using workload::Operands;

// `operands`: w weight, 2 two inputs, e elementwise (of one or two inputs). `sizes`: outer, M, K, N.
struct Shape {
  char operands;
  const char* sizes;
  char sharding;  // o, M, K, or - for none
};

constexpr std::array<Shape, 18> kForward = {{
    {'e', "1h1s", '-'},
    {'e', "1h1s", '-'},  // Add_Prev_Layer, LayerNorm_1
    {'w', "adhs", 'o'},
    {'w', "adhs", 'o'},
    {'w', "adhs", 'o'},  // Q, K, V
    {'2', "asds", 'o'},
    {'e', "as1s", 'o'},
    {'e', "as1s", 'o'},
    {'2', "adss", 'o'},  // attention
    {'w', "1hhs", 'K'},
    {'e', "1h1s", '-'},
    {'e', "1h1s", '-'},
    {'e', "1h1s", '-'},  // PROJ_GEMM .. LayerNorm_2
    {'w', "1fhs", 'M'},
    {'e', "1f1s", 'M'},
    {'w', "1hfs", 'K'},
    {'e', "1h1s", '-'},  // FFN0 .. DropOut_3
    {'e', "1h1s", '-'},  // Add_2
}};

constexpr std::array<Shape, 23> kBackward = {{
    {'e', "1h1s", '-'}, {'e', "1h1s", '-'},                                          // Loss_bwd, DropOut_3_bwd
    {'w', "1fhs", 'M'}, {'e', "1f1s", 'M'}, {'w', "1hfs", 'K'},                      // FFN1_bwd .. FFN0_bwd
    {'e', "1h1s", '-'}, {'e', "1h1s", '-'}, {'w', "1hhs", 'M'},                      // .. PROJ_GEMM_bwd
    {'2', "asds", 'o'}, {'2', "adss", 'o'}, {'w', "1hhs", 'K'},                      // MHA_GEMM_2_bwd1, 2, V_bwd
    {'e', "as1s", 'o'}, {'e', "as1s", 'o'}, {'2', "adss", 'o'}, {'2', "adss", 'o'},  // .. MHA_GEMM_1_bwd1, 2
    {'w', "adhs", 'o'}, {'w', "adhs", 'o'},                                          // Q_bwd, K_bwd
    {'2', "1fsh", 'M'}, {'2', "1hsf", 'M'}, {'2', "1hsh", 'M'},                      // updates of FFN1, FFN0, PROJ
    {'2', "1hsh", 'M'}, {'2', "1hsh", 'M'}, {'2', "1hsh", 'M'},                      // updates of V, K, Q
}};

constexpr std::array<Shape, 20> kDecode = {{
    {'e', "1h11", '-'}, {'e', "1h11", '-'},                                          // Add_Prev_Layer, LayerNorm_1
    {'w', "adh1", 'o'}, {'w', "adh1", 'o'}, {'w', "adh1", 'o'},                      // Q, K, V
    {'e', "ad1c", 'o'}, {'e', "ad1c", 'o'},                                          // K_cache, V_cache
    {'2', "a1dc", 'o'}, {'e', "a11c", 'o'}, {'e', "a11c", 'o'}, {'2', "adc1", 'o'},  // attention
    {'w', "1hh1", 'K'}, {'e', "1h11", '-'}, {'e', "1h11", '-'}, {'e', "1h11", '-'},  // PROJ_GEMM .. LayerNorm_2
    {'w', "1fh1", 'M'}, {'e', "1f11", 'M'}, {'w', "1hf1", 'K'}, {'e', "1h11", '-'},  // FFN0 .. DropOut_3
    {'e', "1h11", '-'},                                                              // Add_2
}};

using Edge = std::pair<int, int>;

// From 1, as the generators number them.
constexpr std::array<Edge, 21> kForwardEdges = {{{1, 2},   {2, 3},   {2, 4},   {2, 5},   {3, 6},   {4, 6},   {6, 7},
                                                 {7, 8},   {5, 9},   {8, 9},   {9, 10},  {10, 11}, {11, 12}, {1, 12},
                                                 {12, 13}, {13, 14}, {14, 15}, {15, 16}, {16, 17}, {17, 18}, {12, 18}}};
constexpr std::array<Edge, 32> kBackwardEdges = {
    {{19, 20}, {20, 21}, {21, 22}, {22, 23}, {23, 24}, {24, 25}, {25, 26}, {26, 27}, {5, 27},  {26, 28}, {8, 28},
     {27, 30}, {28, 29}, {30, 31}, {31, 32}, {31, 33}, {4, 32},  {3, 33},  {32, 34}, {33, 35}, {20, 36}, {15, 36},
     {22, 37}, {13, 37}, {25, 38}, {9, 38},  {28, 39}, {2, 39},  {33, 40}, {2, 40},  {32, 41}, {2, 41}}};
constexpr std::array<Edge, 23> kDecodeEdges = {{{1, 2},   {2, 3},   {2, 4},   {2, 5},   {4, 6},   {5, 7},
                                                {3, 8},   {6, 8},   {8, 9},   {9, 10},  {10, 11}, {7, 11},
                                                {11, 12}, {12, 13}, {13, 14}, {1, 14},  {14, 15}, {15, 16},
                                                {16, 17}, {17, 18}, {18, 19}, {19, 20}, {14, 20}}};

char operands_letter(const Kernel& kernel) {
  switch (kernel.operands) {
    case Operands::kInputAndWeight:
      return 'w';
    case Operands::kTwoInputs:
      return '2';
    default:
      return 'e';
  }
}

bool has_shapes(const KernelGraph& graph, const std::vector<Shape>& shapes) {
  if (graph.kernels.size() != shapes.size()) return false;
  std::map<char, base::Count> size_of = {{'1', 1}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Kernel& kernel = graph.kernels[i];
    if (operands_letter(kernel) != shapes[i].operands) return false;
    const std::array<base::Count, 4> sizes = {kernel.outer, kernel.m, kernel.is_product() ? kernel.k : 1, kernel.n};
    for (int d = 0; d < 4; ++d) {
      if (size_of.emplace(shapes[i].sizes[d], sizes[d]).first->second != sizes[d]) return false;
    }
  }
  return true;
}

bool has_edges(const KernelGraph& graph, std::span<const Edge> first, std::span<const Edge> second) {
  std::multiset<Edge> wanted(first.begin(), first.end());
  wanted.insert(second.begin(), second.end());
  std::multiset<Edge> found;
  for (const workload::KernelEdge& edge : graph.edges) found.emplace(edge.from + 1, edge.to + 1);
  return wanted == found;
}

KernelDimension dimension(char letter) {
  switch (letter) {
    case 'o':
      return KernelDimension::kOuter;
    case 'M':
      return KernelDimension::kM;
    case 'K':
      return KernelDimension::kK;
    default:
      return KernelDimension::kNone;
  }
}

std::vector<KernelDimension> shardings(const std::vector<Shape>& shapes) {
  std::vector<KernelDimension> all;
  for (const Shape& shape : shapes) all.push_back(dimension(shape.sharding));
  return all;
}

}  // namespace

std::optional<std::vector<KernelDimension>> reference_sharding(const KernelGraph& graph) {
  const std::vector<Shape> forward(kForward.begin(), kForward.end());
  if (has_shapes(graph, forward) && has_edges(graph, kForwardEdges, {})) return shardings(forward);

  std::vector<Shape> training = forward;
  training.insert(training.end(), kBackward.begin(), kBackward.end());
  if (has_shapes(graph, training) && has_edges(graph, kForwardEdges, kBackwardEdges)) {
    std::vector<KernelDimension> all = shardings(training);
    all[17] = KernelDimension::kM;  // Add_2, where a backward pass follows
    return all;
  }

  const std::vector<Shape> decode(kDecode.begin(), kDecode.end());
  if (has_shapes(graph, decode) && has_edges(graph, kDecodeEdges, {})) return shardings(decode);
  return std::nullopt;
}

}  // namespace orrery::dataflow
