// Idea: DFModel's frame of a layer (arXiv 2412.16432), with what differs put between.
//
//   Add_Prev_Layer, LayerNorm_1, mixer, DropOut_2, Add_1, LayerNorm_2, feed-forward network, DropOut_3, Add_2
//
// Attention to an encoder's output comes after Add_1, in the same frame (CROSS_...). A layer without feed-forward
// network ends at Add_1. Layers that run both side by side (`parallel`) read one norm, or one each. Norms behind the
// operators, where a layer has four, are kernels of their own; norms that stand after the additions keep the places of
// DFModel's.
//
// Backward as there: there is no LayerNorm_1_bwd, Loss_bwd depends on no forward kernel, the residual's gradient is not
// added, and updates of weights come last. Cost: a step a kernel.
#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {
namespace {

using base::Count;

bool has_mixer(const Block& block) {
  return !std::holds_alternative<std::monostate>(block.mixer);
}
bool has_network(const Block& block) {
  return !std::holds_alternative<std::monostate>(block.feed_forward);
}
// Norms before and after each operator.
bool normed_twice(const Block& block) {
  return block.norms >= 4;
}
// The network's own norm: it has none where it reads that of the mixer. What experts make is added up there.
bool second_norm(const Block& block) {
  return !(block.parallel && block.norms < 2 && has_mixer(block)) ||
         std::holds_alternative<Experts>(block.feed_forward);
}

// A second norm of an operator's output, where the layer has it.
int normed(LayerContext& layer, const Block& block, const char* name, int node, Count stream) {
  if (!normed_twice(block)) return node;
  return layer.out.add(layer.out.unary(name, {1, layer.width, 1, layer.tokens.tokens}, stream), {node});
}

}  // namespace

int forward_kernels(LayerContext& layer, const Block& block, int previous) {
  LayerWriter& out = layer.out;
  const Count s = layer.tokens.tokens, stream = out.elements("the residual stream", {layer.width, s});
  const KernelSpace space{1, layer.width, 1, s};
  const auto unary = [&](const char* name, int from) { return out.add(out.unary(name, space, stream), {from}); };
  const int entry = unary("Add_Prev_Layer", previous);
  int residual = entry, norm = kNoNode;
  bool late_edge = false;
  if (has_mixer(block)) {
    norm = unary("LayerNorm_1", entry);
    const auto* attention = std::get_if<Attention>(&block.mixer);
    const int mixed = attention != nullptr ? attention_kernels(layer, *attention, "", norm)
                                           : recurrence_kernels(layer, std::get<Recurrence>(block.mixer), norm);
    const int dropped = unary("DropOut_2", normed(layer, block, "LayerNorm_1_post", mixed, stream));
    residual = out.add(out.binary("Add_1", space, stream, stream), {dropped});
    // In DFModel's decode graph this edge comes one later.
    late_edge = out.decodes() && has_network(block) && !block.cross && second_norm(block);
    if (!late_edge) out.connect(entry, residual);
  }
  if (block.cross) {
    const int before = residual;
    const int cross = attention_kernels(layer, *block.cross, "CROSS_", unary("CROSS_LayerNorm", before));
    residual = out.add(out.binary("CROSS_Add", space, stream, stream), {unary("CROSS_DropOut", cross), before});
  }
  if (!has_network(block)) return residual;
  int read = norm;
  if (second_norm(block)) read = unary("LayerNorm_2", block.parallel ? entry : residual);
  if (late_edge) out.connect(entry, residual);
  const auto* dense = std::get_if<FeedForward>(&block.feed_forward);
  const int made = dense != nullptr ? feed_forward_kernels(layer, *dense, read)
                                    : expert_kernels(layer, std::get<Experts>(block.feed_forward), read);
  const int dropped = unary("DropOut_3", normed(layer, block, "LayerNorm_2_post", made, stream));
  return out.add(out.binary("Add_2", space, stream, stream), {dropped, residual});
}

std::vector<int> backward_kernels(LayerContext& layer, const Block& block, const std::vector<int>& gradients) {
  LayerWriter& out = layer.out;
  const Count s = layer.tokens.tokens, stream = out.elements("the residual stream", {layer.width, s});
  const KernelSpace space{1, layer.width, 1, s};
  const auto unary = [&](const char* name, int from) { return out.add(out.unary(name, space, stream), {from}); };
  const int loss = out.add(out.unary("Loss_bwd", space, stream), gradients);
  int at = loss;
  std::vector<int> result;
  if (has_network(block)) {
    const int read = second_norm(block) ? out.at("LayerNorm_2") : out.at("LayerNorm_1");
    const int dropped = normed(layer, block, "LayerNorm_2_post_bwd", unary("DropOut_3_bwd", loss), stream);
    const auto* dense = std::get_if<FeedForward>(&block.feed_forward);
    const auto* experts = std::get_if<Experts>(&block.feed_forward);
    const std::vector<int> of_input = dense != nullptr ? feed_forward_gradients(layer, *dense, dropped, read)
                                                       : expert_gradients(layer, *experts, dropped, read);
    if (!second_norm(block)) {
      result = of_input;
      at = loss;
    } else {
      const int norm = out.add(out.unary("LayerNorm_2_bwd", space, stream), {});
      for (const int gradient : of_input) {
        const bool summed = gradient == of_input.front() && experts != nullptr && visits_of(*experts, s).experts > 1;
        out.connect(gradient, norm, summed ? Communication::kAllReduce : Communication::kNone,
                    summed ? out.bytes(stream) : 0);
      }
      at = norm;
      if (block.parallel || !has_mixer(block)) {
        result = {norm};
        at = loss;
      }
    }
  }
  if (block.cross) {
    const int dropped = unary("CROSS_DropOut_bwd", at);
    const std::vector<int> of_input =
        attention_gradients(layer, *block.cross, "CROSS_", dropped, out.at("CROSS_LayerNorm"));
    at = out.add(out.unary("CROSS_LayerNorm_bwd", space, stream), of_input);
  }
  if (has_mixer(block)) {
    const int dropped = normed(layer, block, "LayerNorm_1_post_bwd", unary("DropOut_2_bwd", at), stream);
    const int norm = out.at("LayerNorm_1");
    const auto* attention = std::get_if<Attention>(&block.mixer);
    const std::vector<int> of_input =
        attention != nullptr ? attention_gradients(layer, *attention, "", dropped, norm)
                             : recurrence_gradients(layer, std::get<Recurrence>(block.mixer), dropped, norm);
    result.insert(result.end(), of_input.begin(), of_input.end());
  }
  for (const LayerContext::Update& u : layer.updates) {
    Kernel kernel = out.update(u.of, u.outer, u.in, u.out, u.tokens);
    kernel.unit = u.unit;
    out.add(std::move(kernel), {u.gradient, u.activation});
  }
  layer.updates.clear();
  return result;
}

}  // namespace orrery::workload
