// Idea: a mixture of experts is DFModel's FFN0, GeLU and FFN1 with as many copies side by side (`outer`) as tokens
// visit experts, each on its own tokens. Tokens are spread evenly: s tokens that visit k of E experts each are
//
//   min(E, s k) experts of ceil(s k / experts) tokens.
//
// So EXPERT_FFN0 is experts x up x h x tokens, its weight that of all these experts. What no token visits lies in
// memory all the same (`dram_extra`, divided by the chips).
//
// Sharded along `outer` this is expert parallelism: every chip has the experts' weights that it holds and the tokens of
// all, as tensor-parallel chips do. COMBINE adds what the experts of a token make; since they may lie on different
// chips, the edge to it is an all-reduce of the tokens, and so is, backward, the one to the gradient of the input.
// ROUTER and TOP_K choose; a shared expert stands beside (SHARED_FFN0 ...), its gate being SHARED_GATE.
//
// Elementwise kernels count one operation for each element they make; where their inputs have other shapes than that,
// no sizes are stated. Cost: a step a kernel.
#include <algorithm>

#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {
namespace {

using base::Count;

Count up_of(LayerWriter& out, const FeedForward& f) {
  return out.elements("the width of the feed-forward network", {f.gated ? 2 : 1, f.inner});
}

// FFN0, GeLU and FFN1 of `copies` networks side by side, of `tokens` tokens each.
struct Networks {
  std::string prefix;
  Count copies = 1, tokens = 1;
};

int forward(LayerContext& layer, const FeedForward& f, const Networks& n, const std::vector<int>& from,
            double unvisited) {
  LayerWriter& out = layer.out;
  const Count h = layer.width, up = up_of(out, f);
  const auto weighted = [&](const char* name, Count rows, Count columns, const std::vector<int>& sources) {
    Kernel kernel = out.weighted(n.prefix + name, {n.copies, rows, columns, n.tokens}, true);
    kernel.dram_extra_bytes = unvisited * static_cast<double>(rows) * static_cast<double>(columns) * out.word();
    return out.add(std::move(kernel), sources);
  };
  const int first = weighted("FFN0", up, h, from);
  const int activated = out.add(out.unary(n.prefix + "GeLU", {n.copies, f.inner, 1, n.tokens},
                                          out.elements("the output of FFN0", {n.copies, up, n.tokens})),
                                {first});
  return weighted("FFN1", h, f.inner, {activated});
}

// The gradient of the input.
int backward(LayerContext& layer, const FeedForward& f, const Networks& n, int gradient, int input) {
  LayerWriter& out = layer.out;
  const Count h = layer.width, up = up_of(out, f);
  const int second = out.add(out.weighted(n.prefix + "FFN1_bwd", {n.copies, f.inner, h, n.tokens}, true), {gradient});
  const int activated = out.add(out.unary(n.prefix + "GeLU_bwd", {n.copies, up, 1, n.tokens},
                                          out.elements("the input of FFN1", {n.copies, f.inner, n.tokens})),
                                {second});
  const int first = out.add(out.weighted(n.prefix + "FFN0_bwd", {n.copies, h, up, n.tokens}, true), {activated});
  layer.updates.push_back({n.prefix + "FFN1", n.copies, f.inner, h, n.tokens, gradient, out.at(n.prefix + "GeLU")});
  layer.updates.push_back({n.prefix + "FFN0", n.copies, h, up, n.tokens, activated, input});
  return first;
}

}  // namespace

Visits visits_of(const Experts& experts, Count tokens) {
  Count visits = 0;
  if (__builtin_mul_overflow(tokens, experts.top_k, &visits)) visits = INT64_MAX;  // refused with the sizes of kernels
  const Count visited = std::max<Count>(1, std::min(experts.count, visits));
  return {visited, base::ceil_divide(visits, visited)};
}

int feed_forward_kernels(LayerContext& layer, const FeedForward& f, int input) {
  return forward(layer, f, {"", 1, layer.tokens.tokens}, {input}, 0);
}

std::vector<int> feed_forward_gradients(LayerContext& layer, const FeedForward& f, int gradient, int input) {
  return {backward(layer, f, {"", 1, layer.tokens.tokens}, gradient, input)};
}

int expert_kernels(LayerContext& layer, const Experts& e, int input) {
  LayerWriter& out = layer.out;
  const Count h = layer.width, s = layer.tokens.tokens;
  const Visits visits = visits_of(e, s);
  const Count stream = out.elements("the residual stream", {h, s}), chosen = out.elements("the routing", {e.count, s});
  const int router = out.add(out.weighted("ROUTER", {1, e.count, h, s}), {input});
  const int top = out.add(out.unary("TOP_K", {1, e.count, 1, s}, chosen), {router});
  const double unvisited = static_cast<double>(e.count - visits.experts) / out.chips();
  const int routed = forward(layer, e.expert, {"EXPERT_", visits.experts, visits.tokens}, {input, top}, unvisited);
  int shared = kNoNode;
  if (e.shared_expert.inner > 0) {
    shared = forward(layer, e.shared_expert, {"SHARED_", 1, s}, {input}, 0);
    if (e.shared_gate) {
      const int gate = out.add(out.weighted("SHARED_GATE", {1, 1, h, s}), {input});
      shared = out.add(out.binary("SHARED_MUL", {1, h, 1, s}, stream, s), {shared, gate});
    }
  }
  int combined = out.add(out.binary("COMBINE", {1, h, 1, s}, 0, 0), {});
  out.connect(routed, combined, visits.experts > 1 ? Communication::kAllReduce : Communication::kNone,
              visits.experts > 1 ? out.bytes(stream) : 0);
  out.connect(top, combined);
  if (shared != kNoNode)
    combined = out.add(out.binary("Add_Experts", {1, h, 1, s}, stream, stream), {combined, shared});
  return combined;
}

std::vector<int> expert_gradients(LayerContext& layer, const Experts& e, int gradient, int input) {
  LayerWriter& out = layer.out;
  const Count h = layer.width, s = layer.tokens.tokens;
  const Visits visits = visits_of(e, s);
  const Count stream = out.elements("the residual stream", {h, s});
  std::vector<int> gradients = {backward(layer, e.expert, {"EXPERT_", visits.experts, visits.tokens}, gradient, input)};
  if (e.shared_expert.inner > 0) {
    int of_shared = gradient;
    if (e.shared_gate) {
      of_shared = out.add(out.binary("SHARED_MUL_bwd1", {1, h, 1, s}, stream, s), {gradient, out.at("SHARED_GATE")});
      const int of_gate = out.add(out.binary("SHARED_MUL_bwd2", {1, 1, 1, s}, 0, 0), {gradient, out.at("SHARED_FFN1")});
      gradients.push_back(out.add(out.weighted("SHARED_GATE_bwd", {1, h, 1, s}), {of_gate}));
      layer.updates.push_back({"SHARED_GATE", 1, h, 1, s, of_gate, input});
    }
    gradients.push_back(backward(layer, e.shared_expert, {"SHARED_", 1, s}, of_shared, input));
  }
  const int top = out.add(out.binary("TOP_K_bwd", {1, e.count, 1, s}, 0, 0), {gradient, out.at("EXPERT_FFN1")});
  gradients.push_back(out.add(out.weighted("ROUTER_bwd", {1, h, e.count, s}), {top}));
  layer.updates.push_back({"ROUTER", 1, h, e.count, s, top, input});
  return gradients;
}

}  // namespace orrery::workload
