// Backwards, sublayer by sublayer from the last. With g the gradient of the residual stream behind a branch
//   post-norm, z = norm(s + drop(f(s))):   b = norm'(g),  ds = b + f'(drop(b))
//   pre-norm,  z = s + drop(f(norm(s))):   ds = g + norm'(f'(drop(g)))
// where f' also leaves the gradients of its weights. The sum with b rides on the branch's last product, that with g on
// the norm's backward pass. What the branch had read is computed again from the norm's rows before scale and shift.
#include "orrery/runtime/layer/state.h"

namespace orrery::layer {

using kernels::Activation;
using kernels::Product;

namespace {

constexpr const char* kNormBack[] = {"d_norm1", "d_cross norm", "d_norm2"};
constexpr const char* kNormAgain[] = {"norm1 again", "cross norm again", "norm2 again"};
constexpr const char* kDropBack[] = {"d_drop1", "d_cross drop", "d_drop2"};
constexpr DropPlace kDropOf[] = {kDropFirst, kDropCross, kDropSecond};

Activation slope_of(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return Activation::kReluSlope;
    case Activation::kGelu:
      return Activation::kGeluSlope;
    case Activation::kGeluTanh:
      return Activation::kGeluTanhSlope;
    default:
      return Activation::kSiluSlope;
  }
}

}  // namespace

void LayerState::backward(const void* dy, const InputGradients& wanted, Weights& gradients) {
  op.backward = true;
  const Ref g = gathered("gather dy", tokens, dy, dy_rows, shape.width);
  network_back(g, gradient[kNetwork], gradients);
  if (shape.cross) cross_back(gradient[kNetwork], gradient[kCross], wanted, gradients);
  const bool scattered = planning() || tokens.padded();
  attention_back(gradient[shape.cross ? kCross : kNetwork], scattered ? dx_rows : Ref::of(wanted.x), gradients);
  if (scattered) op.scatter("scatter dx", tokens, at(dx_rows), wanted.x, shape.width);
  op.backward = false;
}

void LayerState::norm_back(Sublayer sublayer, Ref g, Ref residual, Ref out, Weights& gradients) {
  const Norm& n = norms[sublayer];
  std::vector<float>* scales[] = {&gradients.scale1, &gradients.cross_scale, &gradients.scale2};
  std::vector<float>* shifts[] = {&gradients.shift1, &gradients.cross_shift, &gradients.shift2};
  kernels::NormaliseBack b;
  b.gradient = at(g), b.standard = at(n.standard), b.inverse = static_cast<float*>(at(n.inverse));
  b.type = shape.type, b.centred = shape.centred, b.rows = tokens.rows(), b.columns = shape.width;
  b.gradient_stride = b.standard_stride = b.residual_stride = b.out_stride = shape.width;
  b.scale = n.scale.data(), b.residual = at(residual), b.out = at(out);
  b.scale_gradient = scales[sublayer]->data();
  if (shape.shift) b.shift_gradient = shifts[sublayer]->data();
  op.normalise_back(kNormBack[sublayer], b);
}

LayerState::Branch LayerState::open(Sublayer sublayer, Ref g, Weights& gradients) {
  Ref sum = g;
  if (!pre()) {
    norm_back(sublayer, g, {}, behind[sublayer], gradients);
    sum = behind[sublayer];
  }
  const kernels::DropPattern& pattern = drop[kDropOf[sublayer]];
  if (pattern.threshold == 0) return {sum, sum};
  kernels::Finish f;
  f.in = at(sum), f.in_type = f.out_type = shape.type, f.rows = tokens.rows(), f.columns = shape.width;
  f.in_stride = f.out_stride = shape.width, f.drop = pattern, f.out = at(top[sublayer]);
  op.finish(kDropBack[sublayer], f);
  return {sum, top[sublayer]};
}

// The branch's last product, with what else its input's gradient consists of.
void LayerState::finish_back(Product& last, const char* name, Sublayer sublayer, const Branch& branch, Ref added,
                             Ref out, Weights& gradients) {
  last.c = rows_of(pre() ? into[sublayer] : out, shape.width);
  const Ref residual = added.tensor >= 0 || pre() ? added : branch.behind;
  if (at(residual) != nullptr) last.residual = rows_of(residual, shape.width);
  op.multiply(name, last);
  if (pre()) norm_back(sublayer, into[sublayer], branch.behind, out, gradients);
}

// A norm's output from its rows before scale and shift.
Ref LayerState::scale_and_shift(Sublayer sublayer) {
  const Norm& n = norms[sublayer];
  kernels::Finish f;
  f.in = at(n.standard), f.in_type = f.out_type = shape.type, f.rows = tokens.rows(), f.columns = shape.width;
  f.in_stride = f.out_stride = shape.width;
  f.gate = n.scale.data(), f.residual = n.shift.empty() ? nullptr : n.shift.data();  // stride 0: the same for every row
  f.out = at(again[sublayer]);
  op.finish(kNormAgain[sublayer], f);
  return again[sublayer];
}

// What the branch read.
Ref LayerState::read_again(Sublayer sublayer) {
  if (pre()) return scale_and_shift(sublayer);
  if (sublayer == kAttention) return gathered("gather x again", tokens, input.x, x_again, shape.width);
  return scale_and_shift(sublayer == kNetwork && shape.cross ? kCross : kAttention);
}

// drop2(f(what the activation was applied to)), to be completed by the caller.
kernels::Finish LayerState::hidden_chain() {
  kernels::Finish f;
  f.in = at(before), f.in_type = f.out_type = f.gate_type = f.slope_type = shape.type;
  f.rows = tokens.rows(), f.columns = shape.hidden;
  f.in_stride = f.out_stride = f.gate_stride = f.slope_stride = shape.hidden;
  f.activation = shape.activation, f.drop = drop[kDropHidden];
  return f;
}

// From the gradient of f(g) u in `d_before` to that of u (in `d_ungated`) and of g (in its place), and of g's weights.
void LayerState::gate_back(Ref read_by_it, Weights& gradients) {
  kernels::Finish f = hidden_chain();
  f.gate = at(d_before), f.out = at(d_ungated);
  op.finish("d_ungated", f);
  f = hidden_chain();
  f.in = at(d_before), f.activation = slope_of(shape.activation), f.slope_at = at(before);
  f.gate = at(ungated), f.out = at(d_before);
  op.finish("d_gated", f);
  op.multiply("d_gate weights", gate_map.weight_gradient(tokens.rows(), at(d_before), at(read_by_it), gradients.gate,
                                                         gradients.gate_bias));
}

void LayerState::network_back(Ref g, Ref out, Weights& gradients) {
  const Branch branch = open(kNetwork, g, gradients);
  kernels::Finish f = hidden_chain();
  f.out = at(hidden_again);
  if (shape.gated) f.gate = at(ungated);
  op.finish("hidden again", f);
  op.multiply("d_down weights", down_map.weight_gradient(tokens.rows(), at(branch.top), at(hidden_again),
                                                         gradients.down, gradients.down_bias));
  Product down = down_map.apply_back(tokens.rows(), at(branch.top), at(d_before));
  if (!shape.gated) {
    down.activation = slope_of(shape.activation);
    down.slope_at = rows_of(before, shape.hidden);
    down.drop = drop[kDropHidden];
  }
  op.multiply("d_down input", down);
  const Ref was_read = read_again(kNetwork);
  Ref added;
  if (shape.gated) {
    gate_back(was_read, gradients);
    Product through = gate_map.apply_back(tokens.rows(), at(d_before), at(d_through_gate));
    if (!pre()) through.residual = rows_of(branch.behind, shape.width);
    op.multiply("d_gate input", through);
    added = d_through_gate;
  }
  const Ref change = shape.gated ? d_ungated : d_before;
  op.multiply("d_up weights",
              up_map.weight_gradient(tokens.rows(), at(change), at(was_read), gradients.up, gradients.up_bias));
  Product into_branch = up_map.apply_back(tokens.rows(), at(change), nullptr);
  finish_back(into_branch, "d_up input", kNetwork, branch, added, out, gradients);
}

void LayerState::cross_back(Ref g, Ref out, const InputGradients& wanted, Weights& gradients) {
  const Branch branch = open(kCross, g, gradients);
  op.multiply("d_cross out weights", cross_out_map.weight_gradient(tokens.rows(), at(branch.top), at(cross_heads),
                                                                   gradients.cross_out, gradients.cross_out_bias));
  op.multiply("d_cross out input", cross_out_map.apply_back(tokens.rows(), at(branch.top), at(d_cross_heads)));
  op.attend_back("d_cross attention", cross_attention(), cross_core);
  memory_back(wanted, gradients);
  const Ref was_read = read_again(kCross);
  op.multiply("d_cross query weights",
              cross_query_map.weight_gradient(tokens.rows(), at(d_cross_query), at(was_read), gradients.cross_query,
                                              gradients.cross_query_bias));
  Product into_branch = cross_query_map.apply_back(tokens.rows(), at(d_cross_query), nullptr);
  finish_back(into_branch, "d_cross query input", kCross, branch, {}, out, gradients);
}

void LayerState::memory_back(const InputGradients& wanted, Weights& gradients) {
  const Tokens& rows = memory_tokens;
  const Ref memory = gathered("gather memory again", rows, input.memory, memory_again, shape.memory());
  op.multiply("d_cross keys weights",
              cross_kv_map.weight_gradient(rows.rows(), at(d_cross_kv), at(memory), gradients.cross_key_value,
                                           gradients.cross_key_value_bias));
  if (wanted.memory == nullptr) return;
  const bool scattered = planning() || rows.padded();
  const Ref to = scattered ? dmemory_rows : Ref::of(wanted.memory);
  if (scattered && wanted.add_memory) op.gather("gather dmemory", rows, wanted.memory, at(to), shape.memory());
  Product p = cross_kv_map.apply_back(rows.rows(), at(d_cross_kv), at(to));
  p.add = wanted.add_memory;
  op.multiply("d_cross keys input", p);
  if (scattered) op.scatter("scatter dmemory", rows, at(to), wanted.memory, shape.memory());
}

void LayerState::attention_back(Ref g, Ref out, Weights& gradients) {
  const Branch branch = open(kAttention, g, gradients);
  op.multiply("d_out weights",
              out_map.weight_gradient(tokens.rows(), at(branch.top), at(heads), gradients.out, gradients.out_bias));
  op.multiply("d_out input", out_map.apply_back(tokens.rows(), at(branch.top), at(d_heads)));
  op.attend_back("d_attention", attention(), core);
  rotate(d_qkv, true);
  const Ref was_read = read_again(kAttention);
  op.multiply("d_qkv weights",
              qkv_map.weight_gradient(tokens.rows(), at(d_qkv), at(was_read), gradients.qkv, gradients.qkv_bias));
  Product into_branch = qkv_map.apply_back(tokens.rows(), at(d_qkv), nullptr);
  finish_back(into_branch, "d_qkv input", kAttention, branch, {}, out, gradients);
}

}  // namespace orrery::layer
