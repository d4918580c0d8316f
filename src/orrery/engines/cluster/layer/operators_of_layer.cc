#include "orrery/engines/cluster/layer/operators_of_layer.h"

#include <algorithm>

namespace orrery::cluster {
namespace {

constexpr const char* kSoftmax = "softmax, mask, dropout";
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

namespace {

// An attention core, of which the operator model may know the forward pass alone as one operator.
struct CoreOperators {
  const LayerContext& c;
  const Core& core;
  const machine::Operator& whole;  // forwards
  std::optional<double> forward_s;
  const machine::OperatorModel& pricing;

  double product(base::Count n, base::Count k) const {
    return pricing.matrix_product_seconds({whole.product.batch, whole.product.m, n, k, whole.product.precision});
  }
  void note_product(std::string_view name, OperatorPass pass, base::Count n, base::Count k, double times,
                    const std::optional<machine::MatrixProduct>& computes = {}) const {
    if (c.uses == nullptr) return;
    const machine::MatrixProduct& p = whole.product;
    note(c, name, pass, machine::Operator::of({p.batch, p.m, n, k, p.precision}), times, computes);
  }
  std::string_view named(const char* own_keys, const char* of_source) const {
    return core.of_source ? of_source : own_keys;
  }
};

// Forwards as one operator, with what it leaves to others, where that takes less than the core's other operators.
std::optional<double> joined_core(const CoreOperators& of, double beside_bytes, double apart_s) {
  if (!of.forward_s) return {};
  const double joined_s = *of.forward_s + of.pricing.memory_bound_seconds(beside_bytes);
  if (joined_s >= apart_s) return {};
  note(of.c, of.named("attention", "cross attention"), OperatorPass::kForward, of.whole);
  if (beside_bytes > 0)
    note(of.c, kSoftmax, OperatorPass::kForward,
         machine::Operator::moving(machine::OperatorKind::kNormalisation, beside_bytes));
  return joined_s;
}

// Scores are never written: both products are priced as those of values.
void add_flash_core(const CoreOperators& of, CoreSeconds& sum) {
  const Core& core = of.core;
  const double values = of.product(core.value_width, core.seen);
  const double queries = core.width == core.value_width ? values : of.product(core.width, core.seen);
  const double apart = core.share * (values + queries);
  const double backward = core_backward_products(of.c.model) / kFlashBackwardEfficiency;
  sum.backward += backward * apart;
  const machine::MatrixProduct& computes = of.whole.product;
  const auto noted = [&](OperatorPass pass, double times) {
    of.note_product(of.named("scores", "cross scores"), pass, core.width, core.seen, times, computes);
    of.note_product(of.named("values", "cross values"), pass, core.value_width, core.seen, times);
  };
  const std::optional<double> joined = joined_core(of, 0, apart);
  sum.forward += joined.value_or(apart);
  if (!joined) noted(OperatorPass::kForward, core.share);
  noted(OperatorPass::kBackward, backward * core.share);
}

void add_written_core(const CoreOperators& of, CoreSeconds& sum) {
  const Core& core = of.core;
  const LayerContext& c = of.c;
  const double scores = of.product(core.seen, core.width), values = of.product(core.value_width, core.seen);
  const double q = static_cast<double>(of.whole.product.batch) * of.whole.product.m * core.seen * (c.element / 2);
  const auto bytes = [&](double each) { return c.plan.stack.traffic * (each * q); };
  const auto noted = [&](OperatorPass pass, double times, double moved) {
    of.note_product(of.named("scores", "cross scores"), pass, core.seen, core.width, times);
    of.note_product(of.named("values", "cross values"), pass, core.value_width, core.seen, times);
    note(c, kSoftmax, pass, machine::Operator::moving(machine::OperatorKind::kNormalisation, moved));
  };
  const double apart = scores + values + of.pricing.memory_bound_seconds(bytes(9));
  // Of dropout's bytes its mask and its result, which the backward pass reads.
  const std::optional<double> joined = joined_core(of, c.model.dropout ? bytes(3) : 0, apart);
  sum.forward += joined.value_or(apart);
  if (!joined) noted(OperatorPass::kForward, 1, bytes(9));
  sum.backward += 2 * (scores + values) + of.pricing.memory_bound_seconds(bytes(11));
  noted(OperatorPass::kBackward, 2, bytes(11));
}

}  // namespace

void add_core(const LayerContext& c, const LayerKind& kind, const Core& core, CoreSeconds& sum) {
  const bool flash = c.model.attention == Attention::kFlash;
  machine::Operator whole;
  whole.kind = machine::OperatorKind::kAttention;
  // Queries of a sequence on this rank, for each head of its sequences.
  whole.product = {c.plan.micro_batch * (core.heads / c.plan.tp), kind.seq / c.plan.cp, core.seen, core.width,
                   wide(c.plan.precision)};
  whole.value_width = core.value_width, whole.share = core.share, whole.dropout = c.model.dropout;
  whole.keeps_weights = !flash;
  if (flash) whole.kernel = c.plan.stack.kernel;
  const std::optional<double> forward_s = c.operators.attention_seconds(whole);
  if (forward_s) {
    machine::Operator back = whole;
    back.gradient = true;
    if (const std::optional<double> backward_s = c.operators.attention_seconds(back)) {
      sum.forward += *forward_s;
      sum.backward += *backward_s;
      const std::string_view name = core.of_source ? "cross attention" : "attention";
      note(c, name, OperatorPass::kForward, whole);
      note(c, name, OperatorPass::kBackward, back);
      return;
    }
  }
  const CoreOperators of{c, core, whole, forward_s, forward_s && c.asked != nullptr ? *c.asked : c.operators};
  flash ? add_flash_core(of, sum) : add_written_core(of, sum);
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
