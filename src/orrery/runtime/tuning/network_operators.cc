// The network: a map to `u` elements, an activation, a map back. A gated one makes two stacked results by one
// contraction; the activation of the one multiplies the other.
#include "orrery/runtime/tuning/operator_writer.h"

namespace orrery::tuning {
namespace {

std::string activation_name(kernels::Activation activation) {
  switch (activation) {
    case kernels::Activation::kGelu:
      return "gelu";
    case kernels::Activation::kGeluTanh:
      return "gelu-tanh";
    case kernels::Activation::kSilu:
      return "silu";
    default:
      return "relu";
  }
}

// An activation costs one operation an element in a kernel and none alone.
void activate(OperatorWriter& to, const std::string& name, const Names& reads, const Names& writes) {
  LayerOperator& op = to.plain(name, "bju", 1, reads, writes);
  op.flop = 0;
  op.activation = true;
}

}  // namespace

void network_forward(OperatorWriter& to, const SubLayer& sub, const std::string& input) {
  const layer::Shape& shape = to.shape();
  const std::string rows = shape.gated ? "wu" : "u";
  to.contraction("lin1", "bji," + rows + "i->bj" + rows, input, to.weight("LINW1", rows + "i"), "SB1_LINW1");
  std::string up = "SB1_LINW1", gate;
  if (shape.gated) {
    up = to.tensor("SB1_LINW1_up", "bju");
    gate = to.tensor("SB1_LINW1_gate", "bju");
    to.parts("gate-split", {"SB1_LINW1"}, {up, gate});
  }
  if (shape.network_bias) {
    Names reads{up, to.weight("LINB1", rows)}, writes{to.tensor("LIN1", "bju")};
    if (shape.gated) {
      reads.push_back(gate);
      gate = to.tensor("GATE1", "bju");
      writes.push_back(gate);
    }
    to.plain("bias1", "bju", shape.gated ? 2 : 1, reads, writes);
    up = "LIN1";
  }
  activate(to, activation_name(shape.activation), {shape.gated ? gate : up}, {to.tensor("ACT1", "bju")});
  std::string hidden = "ACT1";
  if (shape.gated) {
    to.plain("gate", "bju", 1, {"ACT1", up}, {to.tensor("GATED1", "bju")});
    hidden = "GATED1";
  }
  if (to.drops()) {
    to.plain("dropout2", "bju", 1, {hidden}, {to.tensor("DROP2", "bju"), to.tensor("DROP2MASK", "bju")});
    hidden = "DROP2";
  }
  to.contraction("lin2", "bju,iu->bji", hidden, to.weight("LINW2", "iu"), sub.mapped);
}

std::string network_backward(OperatorWriter& to, const SubLayer&, const std::string& input,
                             const std::string& gradient) {
  const layer::Shape& shape = to.shape();
  const bool bias = shape.network_bias;
  const std::string rows = shape.gated ? "wu" : "u";
  const std::string up = bias ? "LIN1" : shape.gated ? "SB1_LINW1_up" : "SB1_LINW1";
  const std::string gate = bias ? "GATE1" : "SB1_LINW1_gate";
  const std::string hidden = to.drops() ? "DROP2" : shape.gated ? "GATED1" : "ACT1";
  to.contraction("dXlin2", "bji,iu->bju", gradient, "LINW2", "DDROP2");
  to.contraction("dWlin2", "bji,bju->iu", gradient, hidden, to.gradient("LINW2"));
  std::string of_hidden = "DDROP2";
  if (to.drops()) {
    to.plain("dropout2 dX", "bju", 1, {of_hidden, "DROP2MASK"}, {to.tensor("DACT1", "bju")});
    of_hidden = "DACT1";
  }
  const std::string name = activation_name(shape.activation) + " dX";
  Names made{to.tensor(shape.gated ? "DLIN1_up" : "DLIN1", "bju")};
  if (shape.gated) {
    made.push_back(to.tensor("DLIN1_gate", "bju"));
    to.plain("gate dX", "bju", 2, {of_hidden, "ACT1", up}, {made[0], to.tensor("DGATE1", "bju")});
    activate(to, name, {"DGATE1", gate}, {made[1]});
  } else {
    activate(to, name, {of_hidden, up}, made);
  }
  if (bias) to.plain("bias1 dW", "bju", shape.gated ? 2 : 1, made, {to.gradient("LINB1")}, "bj");
  if (shape.gated) to.parts("gate-merge", made, {to.tensor("DLIN1", "bjwu")});
  to.contraction("dXlin1", "bj" + rows + "," + rows + "i->bji", "DLIN1", "LINW1", "DLIN1_LINW1");
  to.contraction("dWlin1", "bj" + rows + ",bji->" + rows + "i", "DLIN1", input, to.gradient("LINW1"));
  return "DLIN1_LINW1";
}

}  // namespace orrery::tuning
