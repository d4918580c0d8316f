#include "orrery/engines/cluster/layer/operators_of_layer.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

constexpr double kFlashBackwardEfficiency = 0.86;  // of the forward pass's, where it is priced as products

// Memory traffic of making a product's operands of 16-bit numbers, for each element: of the input in the forward and
// in the backward pass, of the result's gradient. A weight gradient reads the input and the gradient along the tokens,
// the other products along the channels.
//
//   fp8    one scale a tensor, known from before: read 2, write 1; a transposed copy, read and written, in the backward
//          pass; of the gradient both copies at once
//   mxfp8  blocks of 32 lie along what is summed, so either copy is quantised of its own: read 2, write both at once
//   nvfp4  the same, and a reading more: scales of blocks are themselves scaled by the tensor's largest element
//          (arXiv 2509.25149; Transformer Engine's recipes)
struct QuantisedBytes {
  double forward, backward, gradient;
};

QuantisedBytes quantised_bytes(machine::Precision precision) {
  if (precision == machine::Precision::kFp8) return {3, 2, 4};
  const double reads = precision == machine::Precision::kNvfp4 ? 4 : 2;
  const double both = reads + 2 * machine::bytes_per_element(precision);
  return {both, 0, both};
}

}  // namespace

void Products::add(const Products& others) {
  forward += others.forward;
  input += others.input;
  weight += others.weight;
  forward_bytes += others.forward_bytes;
  backward_bytes += others.backward_bytes;
  parameters += others.parameters;
}

// A matrix that is not trained has no gradient.
void Products::frozen(std::string_view name, const machine::MatrixProduct& y, const machine::MatrixProduct& dx) {
  forward += slower * context.operators.matrix_product_seconds(y);
  input += slower * context.operators.matrix_product_seconds(dx);
  if (context.uses == nullptr) return;
  note(context, name, OperatorPass::kForward, machine::Operator::of(y), slower);
  note(context, name, OperatorPass::kInputGradient, machine::Operator::of(dx), slower);
}

// An adapter of rank r beside a k x n matrix: a product down and one up.
void Products::adapter(base::Count m, base::Count n, base::Count k, base::Count r) {
  parameters += static_cast<double>(r) * static_cast<double>(n + k);
  for (const machine::MatrixProduct& y :
       {machine::MatrixProduct{1, m, r, k, precision}, machine::MatrixProduct{1, m, n, r, precision}}) {
    const machine::MatrixProduct dx{1, m, y.k, y.n, precision}, dw{1, y.k, y.n, m, precision};
    frozen("adapter", y, dx);
    weight += context.operators.weight_gradient_seconds(dw);
    if (context.uses != nullptr)
      note(context, "adapter", OperatorPass::kWeightGradient, machine::Operator::of(dw, true));
  }
}

void Products::linear(std::string_view name, base::Count batch, base::Count m, base::Count n, base::Count k,
                      bool input_made, bool gradient_made) {
  if (machine::quantised(precision)) {
    const QuantisedBytes bytes = quantised_bytes(precision);
    const double rows = static_cast<double>(batch * m);
    const double made = 2 * machine::bytes_per_element(precision);
    forward_bytes += rows * (input_made ? made : bytes.forward) * k;
    backward_bytes += rows * ((input_made ? 0 : bytes.backward) * k + (gradient_made ? made : bytes.gradient) * n);
  }
  if (context.plan.lora_rank > 0 && adapted && cluster::adapted(context.plan, name))
    adapter(m, n, k, context.plan.lora_rank);
  if (context.plan.lora_rank > 0) return frozen(name, {batch, m, n, k, precision}, {batch, m, k, n, precision});
  parameters += static_cast<double>(batch) * n * k;
  const machine::MatrixProduct y{batch, m, n, k, precision}, dx{batch, m, k, n, precision},
      dw{batch, k, n, m, precision};
  frozen(name, y, dx);
  weight += slower * context.operators.weight_gradient_seconds(dw);
  if (context.uses != nullptr)
    note(context, name, OperatorPass::kWeightGradient, machine::Operator::of(dw, true), slower);
}
double accumulation(const LayerContext& c, const Products& products) {
  if (c.plan.fused_accumulation) return 0;
  const double sum = c.plan.main_gradients_fp32 ? 4 : c.element;
  const double copy = c.plan.converted_gradients && sum > c.element ? 2 * sum : 0;
  return moved(c, "accumulation", OperatorPass::kWeightGradient, machine::OperatorKind::kElementwise,
               (c.element + 2 * sum + copy) * products.parameters);
}

void add_core(const LayerContext& c, const LayerKind& kind, const Core& core, CoreSeconds& sum) {
  const base::Count own = kind.seq / c.plan.cp;  // queries of a sequence on this rank
  const base::Count batch = c.plan.micro_batch * (core.heads / c.plan.tp);
  const machine::Precision precision = wide(c.plan.precision);
  const auto product = [&](base::Count n, base::Count k) {
    return c.operators.matrix_product_seconds({batch, own, n, k, precision});
  };
  const std::string_view scored = core.of_source ? "cross scores" : "scores";
  const std::string_view valued = core.of_source ? "cross values" : "values";
  const auto noted = [&](std::string_view name, OperatorPass pass, base::Count n, base::Count k, double times) {
    if (c.uses != nullptr) note(c, name, pass, machine::Operator::of({batch, own, n, k, precision}), times);
  };
  machine::Operator whole;
  whole.kind = machine::OperatorKind::kAttention;
  whole.product = {batch, own, core.seen, core.width, precision};
  whole.value_width = core.value_width, whole.share = core.share, whole.dropout = c.model.dropout;
  if (c.model.attention == Attention::kFlash) whole.kernel = c.plan.stack.kernel;
  const std::optional<double> forward_s = c.operators.attention_seconds(whole);
  machine::Operator back;
  std::optional<double> backward_s;
  if (forward_s) {
    back = whole;
    back.gradient = true;
    backward_s = c.operators.attention_seconds(back);
  }
  if (forward_s && backward_s) {
    sum.forward += *forward_s;
    sum.backward += *backward_s;
    const std::string_view name = core.of_source ? "cross attention" : "attention";
    note(c, name, OperatorPass::kForward, whole);
    note(c, name, OperatorPass::kBackward, back);
    return;
  }
  const double values = product(core.value_width, core.seen);
  if (c.model.attention == Attention::kFlash) {
    const double queries = core.width == core.value_width ? values : product(core.width, core.seen);
    const double forward = core.share * (values + queries);
    sum.forward += forward;
    const double backward = core_backward_products(c.model) / kFlashBackwardEfficiency;
    sum.backward += backward * forward;
    const double times = core.share;
    const auto noted_scores = [&](OperatorPass pass, double count) {
      const machine::MatrixProduct computes{batch, own, core.seen, core.width, precision};
      note(c, scored, pass, machine::Operator::of({batch, own, core.width, core.seen, precision}), count, computes);
    };
    noted_scores(OperatorPass::kForward, times);
    noted(valued, OperatorPass::kForward, core.value_width, core.seen, times);
    noted_scores(OperatorPass::kBackward, backward * times);
    noted(valued, OperatorPass::kBackward, core.value_width, core.seen, backward * times);
    return;
  }
  const double scores = product(core.seen, core.width);
  const double q = static_cast<double>(batch) * own * core.seen * (c.element / 2);
  const auto softmax = [&](OperatorPass pass, double bytes) {
    return moved(c, "softmax, mask, dropout", pass, machine::OperatorKind::kNormalisation,
                 c.plan.stack.traffic * bytes);
  };
  sum.forward += scores + values + softmax(OperatorPass::kForward, 9 * q);
  sum.backward += 2 * (scores + values) + softmax(OperatorPass::kBackward, 11 * q);
  noted(scored, OperatorPass::kForward, core.seen, core.width, 1);
  noted(valued, OperatorPass::kForward, core.value_width, core.seen, 1);
  noted(scored, OperatorPass::kBackward, core.seen, core.width, 2);
  noted(valued, OperatorPass::kBackward, core.value_width, core.seen, 2);
}

void multiply(const LayerContext& c, const Matrix& m, base::Count rows, Products& sum) {
  const base::Count t = c.plan.tp;
  const auto part = [&](base::Count size) { return t == 1 ? size : base::ceil_divide(size, t); };
  base::Count columns = m.split == Split::kColumns ? part(m.out) : m.out;
  // Fewer key/value heads than ranks: every rank has at least one.
  if (m.kv_heads > 0) columns += std::max<base::Count>(1, m.kv_heads / t) * m.kv_width;
  sum.linear(m.name, 1, rows, columns, m.split == Split::kRows ? part(m.in) : m.in);
}

void layer_product(const LayerContext& c, const LayerKind& kind, const Matrix& m, Products& sum) {
  const base::Count rows = tokens_of(c, m.of_source ? kind.source : kind.seq);
  multiply(c, m, m.spread ? static_cast<base::Count>(static_cast<double>(rows) * c.norm_share) : rows, sum);
}

void layer_products(const LayerContext& c, const LayerKind& kind, Products& sum) {
  for (const Matrix& m : kind.matrices) layer_product(c, kind, m, sum);
  if (kind.mixture.count > 0) expert_products(c, kind, sum);
}

void expert_products(const LayerContext& c, const LayerKind& kind, Products& sum) {
  const base::Count T = tokens_of(c, kind.seq);
  const Mixture& mixture = kind.mixture;
  // Tokens that all ranks of a group send, over the experts of a rank.
  const base::Count local = mixture.count / c.plan.ep;
  const base::Count cut = expert_tp(c.plan);
  const base::Count rows = base::ceil_divide(base::ceil_divide(T * cut, c.plan.tp) * mixture.top_k, local);
  const bool fused = c.plan.stack.fused_experts;
  // Of one expert there is nothing to group. Of several that are issued one by one the products of each begin and end
  // by themselves: with as many tokens as `grouped_fill` they take twice their time.
  const double fill = fused ? 0 : c.plan.stack.grouped_fill / static_cast<double>(rows);
  const double slower = local == 1 ? 1 : fill > 0 ? 1 + fill : 1 / c.plan.stack.grouped_rate;
  Products experts{c, sum.precision, false, expert_load(c.plan) * slower};
  experts.linear("expert-FF1", local, rows, mixture.up / cut, mixture.width, false, fused);
  experts.linear("expert-FF2", local, rows, mixture.width, mixture.inner / cut, fused);
  sum.add(experts);
}

void end_products(const LayerContext& c, const std::vector<Matrix>& matrices, Products& sum) {
  for (const Matrix& m : matrices)
    multiply(c, m, std::max<base::Count>(1, c.plan.micro_batch * m.at_tokens / c.plan.cp), sum);
}

}  // namespace orrery::cluster
