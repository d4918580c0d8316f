// A layer's time is the sum of its operators: matrix products by shape, everything else by the bytes it moves.
//
// Forward, plain GPT of width h, T tokens, t = tp: products (T, 3h/t, h), (T, h, h/t), (T, f/t, h), (T, h, f/t), and
// for each head and sequence (s, s, w) and (s, w, s). Backward: two products for each. Bytes, at 16 bits and with
// q = b a s^2 / t scores and the norms' share r (1, or 1/t with sequence parallelism):
//
//               norms, residuals, dropout   activation function       layouts of attention   softmax, mask, dropout
//   forward     22 T h r                    4 T f / t  (gated 6)      16 T h / t             9 q
//   backward    42 T h r                    6 T f / t  (gated 10)     24 T h / t             11 q
//
// The first column is of a layer of two parts (mixer, feed-forward network): each has half of it, and attention to an
// encoder's output makes a third. Scans and their convolutions read and write, in elements of a token divided by t,
//
//   forward     P + R + 2 C     P all that is projected for the scan, R its result, C channels of the convolution
//   backward    2 P + R + 3 C
//
// 8-bit products read their operands at 16 bits and write them at 8 before: x forward, x and y's gradient, along either
// axis, backward. Models without biases and dropout fuse their norms: 16 and 28 in the first column. Flash attention
// keeps the scores on chip: its products are priced as (s, w, s), half of them hidden by the causal mask; its backward
// pass does five products for two, at 0.86 of the forward's efficiency (FlashAttention-2, arXiv 2307.08691: 63 % after
// 73 %). The share of the products' rate that it reaches is a property of the system's software: 1 unless its file
// states one.
//
// Weight gradients are added up over microbatches. The products do so themselves (constants are fitted on runs that are
// priced so), or a separate pass does: it reads the new gradient, reads the sum and writes it, 2 + 4 + 4 bytes a
// parameter where the sum is in fp32. If that needs a copy of the new gradient in fp32, the copy is written and read as
// well.
//
// Tensor parallelism: an all-reduce of the hidden state each way for each part of a layer; sequence parallelism
// replaces each by a reduce-scatter and an all-gather of the same volume and is given the same time. Experts: tokens go
// out and come back by all-to-all each way. Context parallelism: keys and values travel once around the ring; in the
// backward pass they do so again, together with their gradients; so do the states of scans.
//
// The byte counts of the plain GPT were counted on Megatron-LM's kernels and checked against measurements (see
// docs/model/cluster.md). Cost: 14 products and three collectives.
#include "orrery/engines/cluster/model/layer.h"

#include <algorithm>
#include <optional>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/model/eager_experts.h"

namespace orrery::cluster {
namespace {

constexpr double kCoreOps = 5;  // operators issued by the forward pass of an attention core; backward twice as many
constexpr double kFlashOps = 1;
constexpr double kWeightOps = 4;  // by weight gradients of each part of a layer: two products and their accumulations
// By Megatron-Core for each of a rank's experts, whose products Transformer Engine issues one by one: of either matrix
// forward one and backward two, and the quantisation of what they read, where there is one.
constexpr double kGroupedForwardOps = 2, kGroupedBackwardOps = 4, kGroupedWeightOps = 2, kGroupedQuantiseOps = 2;
constexpr double kEmbeddingOps = 12;
constexpr double kLogitsOps = 15;

constexpr double kFlashBackwardEfficiency = 0.86;  // of the forward pass's, where it is priced as products

void note(const LayerContext& c, std::string_view name, OperatorPass pass, const machine::Operator& one,
          double times = 1, const std::optional<machine::MatrixProduct>& computes = {}) {
  if (c.uses != nullptr) c.uses->push_back({std::string(name), pass, one, times, computes});
}

// Seconds of an operator that memory limits.
double moved(const LayerContext& c, std::string_view name, OperatorPass pass, machine::OperatorKind kind,
             double bytes) {
  if (c.uses != nullptr && bytes > 0) note(c, name, pass, machine::Operator::moving(kind, bytes));
  return c.operators.memory_bound_seconds(bytes);
}

constexpr const char* kAround = "norms, activations, layouts";

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

// What is not quantised: attention, logits.
machine::Precision wide(machine::Precision precision) {
  return machine::quantised(precision) ? machine::Precision::kBf16 : precision;
}

// Sums products' times: forward, with respect to the input, with respect to the weights.
struct Products {
  const LayerContext& context;
  machine::Precision precision;
  bool adapted = false;  // where adapters are trained, these matrices have them: layers' own, not the routed experts'
  double slower = 1;     // times, in units of what a product takes by itself
  double forward = 0, input = 0, weight = 0;
  double forward_bytes = 0, backward_bytes = 0;  // of making 8-bit operands
  double parameters = 0;

  void add(const Products& others) {
    forward += others.forward;
    input += others.input;
    weight += others.weight;
    forward_bytes += others.forward_bytes;
    backward_bytes += others.backward_bytes;
    parameters += others.parameters;
  }

  // A matrix that is not trained has no gradient.
  void frozen(std::string_view name, const machine::MatrixProduct& y, const machine::MatrixProduct& dx) {
    forward += slower * context.operators.matrix_product_seconds(y);
    input += slower * context.operators.matrix_product_seconds(dx);
    if (context.uses == nullptr) return;
    note(context, name, OperatorPass::kForward, machine::Operator::of(y), slower);
    note(context, name, OperatorPass::kInputGradient, machine::Operator::of(dx), slower);
  }

  // An adapter of rank r beside a k x n matrix: a product down and one up.
  void adapter(base::Count m, base::Count n, base::Count k, base::Count r) {
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

  // y = x w with x of m x k and w of k x n. What the operator that makes x or y's gradient quantises by itself is
  // written, not read: twice, once for either axis.
  void linear(std::string_view name, base::Count batch, base::Count m, base::Count n, base::Count k,
              bool input_made = false, bool gradient_made = false) {
    if (machine::quantised(precision)) {
      const QuantisedBytes bytes = quantised_bytes(precision);
      const double rows = static_cast<double>(batch * m);
      const double made = 2 * machine::bytes_per_element(precision);
      forward_bytes += rows * (input_made ? made : bytes.forward) * k;
      backward_bytes += rows * ((input_made ? 0 : bytes.backward) * k + (gradient_made ? made : bytes.gradient) * n);
    }
    if (context.plan.lora_rank > 0 && adapted) adapter(m, n, k, context.plan.lora_rank);
    if (context.plan.lora_rank > 0) return frozen(name, {batch, m, n, k, precision}, {batch, m, k, n, precision});
    parameters += static_cast<double>(batch) * n * k;
    const machine::MatrixProduct y{batch, m, n, k, precision}, dx{batch, m, k, n, precision},
        dw{batch, k, n, m, precision};
    frozen(name, y, dx);
    weight += slower * context.operators.weight_gradient_seconds(dw);
    if (context.uses != nullptr)
      note(context, name, OperatorPass::kWeightGradient, machine::Operator::of(dw, true), slower);
  }
};

// What overlapping the `possible` part of `seconds` with what is left of `window` gains: communication takes units and
// bandwidth from the computation beside it, `contention` seconds for each of its own.
double gained(double contention, double share, double seconds, double possible, double& window) {
  const double beside = share * std::min(seconds * possible, window);
  window -= beside;
  return beside * (1 - contention);
}

// Kernels of the software's own that send tokens to experts hold so many of the accelerator's units, and no more.
double exchange_contention(const LayerContext& c) {
  const Stack& stack = c.plan.stack;
  if (stack.exchange_units <= 0 || !stack.node_copies) return stack.contention;
  return std::min(1.0, stack.exchange_units / static_cast<double>(c.system.accelerator.units));
}

// Of a group's communication in as many steps as it has ranks, the first has nothing to go beside.
double behind_first(base::Count ranks) {
  return 1 - 1 / static_cast<double>(ranks);
}

// Overlaps the communication of one pass with its operators; deferred weight gradients are not among them.
void communicate(const LayerContext& c, double core, double tp, double ep, double cp, Pass& pass) {
  const Plan& plan = c.plan;
  const Overlap& overlap = plan.overlap;
  const double contention = plan.stack.contention;
  const bool deferred = plan.schedule == Schedule::kZeroBubble || plan.schedule == Schedule::kDualPipe;
  double window = pass.compute - (deferred ? pass.weight : 0);
  double core_window = std::min(core, window);
  const double before = core_window;
  pass.cp_hidden = gained(contention, overlap.cp, cp, behind_first(plan.cp), core_window);
  window -= before - core_window;
  pass.tp_hidden = gained(contention, overlap.tp, tp, behind_first(plan.tp), window);
  pass.ep_hidden = gained(exchange_contention(c), overlap.ep, ep, 1, window);
  pass.tp = tp - pass.tp_hidden;
  pass.ep = ep - pass.ep_hidden;
  pass.cp = cp - pass.cp_hidden;
}

// DualPipe runs a forward and a backward pass of different microbatches side by side: what either exchanges with
// experts has the operators of both to go beside.
void exchange_beside_both(const LayerContext& c, PassPair& passes) {
  Pass& forward = passes.forward;
  Pass& backward = passes.backward;
  const double before = forward.ep + forward.ep_hidden, behind = backward.ep + backward.ep_hidden;
  const double all = before + behind;
  if (all <= 0) return;
  double window = std::max(0.0, forward.compute - forward.tp_hidden - forward.cp_hidden) +
                  std::max(0.0, backward.compute - backward.tp_hidden - backward.cp_hidden);
  const double hidden = gained(exchange_contention(c), 1, all, 1, window);
  forward.ep_hidden = hidden * before / all;
  backward.ep_hidden = hidden * behind / all;
  forward.ep = std::max(0.0, before - forward.ep_hidden);  // all hidden: less than nothing by rounding
  backward.ep = std::max(0.0, behind - backward.ep_hidden);
}

// Seconds to add weight gradients up in a pass of its own.
double accumulation(const LayerContext& c, const Products& products) {
  if (c.plan.fused_accumulation) return 0;
  const double sum = c.plan.main_gradients_fp32 ? 4 : c.element;
  const double copy = c.plan.converted_gradients && sum > c.element ? 2 * sum : 0;
  return moved(c, "accumulation", OperatorPass::kWeightGradient, machine::OperatorKind::kElementwise,
               (c.element + 2 * sum + copy) * products.parameters);
}

struct CoreSeconds {
  double forward = 0, backward = 0;
};

// Tokens of a microbatch on one context-parallel rank.
base::Count tokens_of(const LayerContext& c, base::Count seq) {
  return c.plan.micro_batch * (seq / c.plan.cp);
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

// `rows` tokens times a rank's part of a matrix.
void multiply(const LayerContext& c, const Matrix& m, base::Count rows, Products& sum) {
  const base::Count t = c.plan.tp;
  const auto part = [&](base::Count size) { return t == 1 ? size : base::ceil_divide(size, t); };
  base::Count columns = m.split == Split::kColumns ? part(m.out) : m.out;
  // Fewer key/value heads than ranks: every rank has at least one.
  if (m.kv_heads > 0) columns += std::max<base::Count>(1, m.kv_heads / t) * m.kv_width;
  sum.linear(m.name, 1, rows, columns, m.split == Split::kRows ? part(m.in) : m.in);
}

void layer_products(const LayerContext& c, const LayerKind& kind, Products& sum) {
  const base::Count T = tokens_of(c, kind.seq);
  for (const Matrix& m : kind.matrices) {
    const base::Count rows = m.of_source ? tokens_of(c, kind.source) : T;
    multiply(c, m, m.spread ? static_cast<base::Count>(static_cast<double>(rows) * c.norm_share) : rows, sum);
  }
  const Mixture& mixture = kind.mixture;
  if (mixture.count == 0) return;
  // Tokens that all ranks of a group send, over the experts of a rank.
  const base::Count local = mixture.count / c.plan.ep;
  const base::Count cut = expert_tp(c.plan);
  const base::Count rows = base::ceil_divide(base::ceil_divide(T * cut, c.plan.tp) * mixture.top_k, local);
  // Of one expert there is nothing to group.
  Products experts{c, sum.precision, false, c.plan.stack.imbalance / (local > 1 ? c.plan.stack.grouped_rate : 1)};
  const bool fused = c.plan.stack.fused_experts;
  experts.linear("expert-FF1", local, rows, mixture.up / cut, kind.width, false, fused);
  experts.linear("expert-FF2", local, rows, kind.width, mixture.inner / cut, fused);
  sum.add(experts);
}

void end_products(const LayerContext& c, const std::vector<Matrix>& matrices, Products& sum) {
  for (const Matrix& m : matrices)
    multiply(c, m, std::max<base::Count>(1, c.plan.micro_batch * m.at_tokens / c.plan.cp), sum);
}

// What the backward pass of a layer, whose operators begin at `begin`, does again.
void note_again(const LayerContext& c, std::size_t begin) {
  if (c.plan.recompute == Recompute::kNone) return;
  const OperatorUses layer(c.uses->begin() + static_cast<std::ptrdiff_t>(begin), c.uses->end());
  for (const OperatorUse& use : layer) {
    const bool core = use.name.ends_with("scores") || use.name.ends_with("values") || use.name.ends_with("attention") ||
                      use.name.starts_with("softmax");
    const bool again = c.plan.recompute == Recompute::kFull || (core && c.plan.recomputed.core);
    if (use.pass == OperatorPass::kForward && again)
      note(c, use.name, OperatorPass::kRecomputation, use.one, use.times, use.computes);
  }
}

// What selective recomputation does again of a layer.
struct Again {
  double seconds = 0, ops = 0;
};

Again recomputed(const LayerContext& c, const LayerKind& kind, double core, double core_ops) {
  const Recomputed& what = c.plan.recomputed;
  Again again;
  if (what.core) again = {core, core_ops};
  const double tokens = static_cast<double>(tokens_of(c, kind.seq));
  double bytes = 0;
  if (what.norms) {
    bytes += kind.parts * 4.0 * kind.width * c.norm_share;
    again.ops += kind.parts;
  }
  if (what.activations && kind.kept_inner > 0) {
    const EagerExperts eager = eager_experts(c, kind);
    bytes += kind.activated[0] / static_cast<double>(c.plan.tp) + eager.limits_bytes / tokens;
    again.ops += 1 + eager.limits_ops;
  }
  if (bytes > 0)
    again.seconds += moved(c, kAround, OperatorPass::kRecomputation, machine::OperatorKind::kNormalisation,
                           c.plan.stack.traffic * tokens * bytes * (c.element / 2));
  if (!what.latents || !kind.latent) return again;
  OperatorUses made;  // adapters among them
  LayerContext apart = c;
  if (c.uses != nullptr) apart.uses = &made;
  Products products{apart, c.plan.precision, true};
  for (const Matrix& m : kind.matrices)
    if (from_latent(m)) multiply(apart, m, tokens_of(c, kind.seq), products);
  for (const OperatorUse& use : made)
    if (use.pass == OperatorPass::kForward)
      note(c, use.name, OperatorPass::kRecomputation, use.one, use.times, use.computes);
  again.seconds += products.forward;
  again.ops += 2;
  return again;
}

// Of `places`, those that hold any of k experts drawn at random.
double held_by(double places, base::Count k) {
  double none = 1;
  for (double power = 1 - 1 / places; k > 0; k /= 2, power *= power)
    if (k % 2 != 0) none *= power;
  return places * (1 - none);
}

// How often a token travels to its experts. Software that sends it once to each node does so for each rank of a node.
double copies_of_token(const LayerContext& c, const Mixture& mixture) {
  const auto k = static_cast<double>(mixture.top_k);
  if (!c.plan.stack.node_copies) return k;
  const double most = mixture.nodes > 0 ? std::min(k, static_cast<double>(mixture.nodes)) : k;
  const double nodes = c.expert_nodes;
  return nodes > 1 ? std::min(most, held_by(nodes, mixture.top_k))
                   : std::min(k, held_by(static_cast<double>(c.plan.ep), mixture.top_k));
}

collective::Group group(const LayerContext& c, base::Count ranks, base::Count stride) {
  return collective::place(c.system.fabric, static_cast<int>(ranks), static_cast<int>(stride));
}

}  // namespace

void Pass::add(const Pass& part, double times) {
  compute += times * part.compute;
  again += times * part.again;
  weight += times * part.weight;
  tp += times * part.tp;
  ep += times * part.ep;
  cp += times * part.cp;
  tp_hidden += times * part.tp_hidden;
  ep_hidden += times * part.ep_hidden;
  cp_hidden += times * part.cp_hidden;
  host += times * part.host;
  weight_host += times * part.weight_host;
}

LayerContext layer_context(const Model& model, const System& system, const Plan& plan,
                           const machine::OperatorModel& operators) {
  LayerContext c{model, system, plan, operators};
  c.tokens = plan.micro_batch * (model.seq / plan.cp);
  c.element = machine::bytes_per_element(plan.precision) == 4 ? 4 : 2;
  c.norm_share = plan.sequence_parallel ? 1.0 / plan.tp : 1;
  if (plan.cp > 1) c.contexts = context_ranks(system, plan);
  if (plan.ep > 1) {
    c.experts = expert_ranks(system, plan);
    c.expert_nodes = nodes_of(system, plan, plan.ep * expert_tp(plan));
  }
  if (plan.tp > 1) {
    c.all_reduce_s = collective::seconds(collective::Operation::kAllReduce, system.fabric, group(c, plan.tp, 1),
                                         c.element * c.tokens * model.hidden);
    const double embedded = c.element * static_cast<double>(plan.micro_batch) * model.embedded / plan.cp;
    c.embedded_s =
        embedded == c.element * c.tokens * static_cast<double>(model.hidden)
            ? c.all_reduce_s
            : collective::seconds(collective::Operation::kAllReduce, system.fabric, group(c, plan.tp, 1), embedded);
  }
  return c;
}

namespace {

// Bytes that norms, activations and layouts of a layer move at 16 bits, by pass.
struct MovedBytes {
  double forward = 0, backward = 0;
};

MovedBytes moved_bytes(const LayerContext& c, const LayerKind& kind) {
  const Mixture& mixture = kind.mixture;
  const Plan& plan = c.plan;
  const double t = plan.tp;
  const double T = tokens_of(c, kind.seq);
  const double h = kind.width;
  double heads = 0, keys = 0;
  for (const Core& core : kind.cores) {
    heads += 4 * (core.of_source ? core.own : core.own + core.keys);
    if (core.of_source) keys += 4 * core.keys * static_cast<double>(kind.source) / static_cast<double>(kind.seq);
  }
  heads += keys;
  MovedBytes bytes;
  bytes.forward = T * (kind.parts * (kind.fused_norms ? 8 : 11) * h * c.norm_share + (kind.activated[0] + heads) / t);
  bytes.backward =
      T * (kind.parts * (kind.fused_norms ? 14 : 21) * h * c.norm_share + (kind.activated[1] + 1.5 * heads) / t);
  const Scan& scan = kind.scan;
  if (scan.heads > 0) {
    bytes.forward += T * 2 * (scan.projected + scan.result + 2 * scan.channels) / t;
    bytes.backward += T * 2 * (2 * scan.projected + scan.result + 3 * scan.channels) / t;
  }
  if (mixture.count > 0) {
    // Permuting tokens to their experts and back: read and write, both ways. Software that exchanges them sorts what it
    // gets by expert, and back.
    const double sorts = plan.ep > 1 && mixture.count > plan.ep ? 16 : 8;
    bytes.forward += sorts * T * h * mixture.top_k * c.norm_share;
    bytes.backward += sorts * T * h * mixture.top_k * c.norm_share;
    if (plan.stack.fused_experts) {
      // The products apply the activation; what its gradient needs is read once.
      const bool gated = mixture.up > mixture.inner;
      const double visits = T * mixture.top_k * static_cast<double>(mixture.inner) / t;
      bytes.forward -= (gated ? 6 : 4) * visits;
      bytes.backward -= (gated ? 6 : 4) * visits;
    }
  }
  return bytes;
}

// Seconds that a layer's collectives take: those of either pass, where they differ by pass.
struct CollectiveSeconds {
  double tp = 0, ep = 0, cp_forward = 0, cp_backward = 0;
};

CollectiveSeconds collectives_of(const LayerContext& c, const LayerKind& kind) {
  const Mixture& mixture = kind.mixture;
  const bool experts = mixture.count > 0;
  const Plan& plan = c.plan;
  const double t = plan.tp;
  const double T = tokens_of(c, kind.seq);
  const double h = kind.width;
  CollectiveSeconds out;
  if (experts && plan.ep > 1) {
    const double rows = T * (expert_tp(plan) < plan.tp ? 1.0 / t : c.norm_share) * h * copies_of_token(c, mixture);
    // Back in the activations' precision.
    const double sent =
        plan.stack.quantised_dispatch ? std::min(c.element, machine::bytes_per_element(plan.precision)) : c.element;
    out.ep = collective::seconds(collective::Operation::kAllToAll, c.system.fabric, c.experts, sent * rows) +
             collective::seconds(collective::Operation::kAllToAll, c.system.fabric, c.experts, c.element * rows);
  }
  if (plan.cp > 1) {
    const collective::Group& ranks = c.contexts;
    const auto circulate = [&](double bytes) {
      const double gather = collective::seconds(collective::Operation::kAllGather, c.system.fabric, ranks, bytes);
      out.cp_forward += gather;
      out.cp_backward +=
          gather + collective::seconds(collective::Operation::kReduceScatter, c.system.fabric, ranks, bytes);
    };
    for (const Core& each : kind.cores) {
      // Fewer key/value heads than ranks: every rank has a copy of one.
      const double width = std::max(each.keys / t, each.keys / static_cast<double>(each.kv_heads));
      const base::Count seen = tokens_of(c, each.of_source ? kind.source : kind.seq);
      circulate(c.element * static_cast<double>(seen) * plan.cp * width);
    }
    // Every rank starts its part of a scan from the states of the parts before.
    if (kind.scan.state > 0) circulate(4.0 * static_cast<double>(plan.micro_batch) * plan.cp * kind.scan.state / t);
  }
  if (plan.tp > 1) {
    const auto sum = [&](double elements) {
      return collective::seconds(collective::Operation::kAllReduce, c.system.fabric, group(c, plan.tp, 1),
                                 c.element * T * elements);
    };
    const bool usual = kind.width == c.model.hidden && kind.seq == c.model.seq;
    // Whole experts get their tokens from the all-to-all alone.
    const double summed = experts && expert_tp(plan) < plan.tp && kind.inner == 0 ? kind.parts - 1 : kind.parts;
    out.tp = summed * (usual ? c.all_reduce_s : sum(h));
    if (kind.scan.reduced > 0) out.tp += sum(kind.scan.reduced);
  }
  return out;
}

}  // namespace

PassPair layer_passes(const LayerContext& c, const LayerKind& kind) {
  const std::size_t begin = c.uses != nullptr ? c.uses->size() : 0;
  const Plan& plan = c.plan;
  Products products{c, plan.precision, true};
  layer_products(c, kind, products);
  MovedBytes bytes = moved_bytes(c, kind);
  const EagerExperts eager = eager_experts(c, kind);
  bytes.forward += eager.forward_bytes;
  bytes.backward += eager.backward_bytes;
  CoreSeconds core;
  for (const Core& each : kind.cores) add_core(c, kind, each, core);
  const CollectiveSeconds once = collectives_of(c, kind);

  const double jitter = kind.parts * c.system.calibration.jitter_seconds * (static_cast<double>(plan.tp) - 1);
  const bool flash = c.model.attention == Attention::kFlash;
  const double core_ops = static_cast<double>(kind.cores.size()) * (flash ? kFlashOps : kCoreOps);
  const double ops = kind.host_operators + core_ops;
  const double issue = plan.stack.host * c.operators.issue_seconds();
  const base::Count local = kind.mixture.count > 0 ? kind.mixture.count / plan.ep : 0;
  const double grouped = plan.stack.name == StackName::kMegatronCore && local > 1 && !plan.stack.fused_experts
                             ? static_cast<double>(local) * issue
                             : 0;
  const double quantised = machine::quantised(plan.precision) ? kGroupedQuantiseOps : 0;

  PassPair passes;
  Pass& forward = passes.forward;
  forward.compute = products.forward + core.forward +
                    moved(c, kAround, OperatorPass::kForward, machine::OperatorKind::kNormalisation,
                          plan.stack.traffic * (bytes.forward * (c.element / 2) + products.forward_bytes));
  forward.host = (ops + eager.forward_ops) * issue + (kGroupedForwardOps + quantised) * grouped + jitter;

  Pass& backward = passes.backward;
  backward.weight = products.weight + accumulation(c, products);
  backward.compute = products.input + backward.weight + core.backward +
                     moved(c, kAround, OperatorPass::kBackward, machine::OperatorKind::kNormalisation,
                           plan.stack.traffic * (bytes.backward * (c.element / 2) + products.backward_bytes));
  backward.host = (2 * ops + eager.backward_ops) * issue + (kGroupedBackwardOps + quantised) * grouped + jitter;
  backward.weight_host = kind.parts * kWeightOps * issue + kGroupedWeightOps * grouped;
  CollectiveSeconds again;
  double core_seconds = core.backward;
  if (c.uses != nullptr) note_again(c, begin);
  if (plan.recompute == Recompute::kFull) {
    backward.again = forward.compute;
    backward.host += forward.host;
    core_seconds += core.forward;
    again = once;
  } else if (plan.recompute == Recompute::kSelective) {
    if (plan.stack.keeps_core) {
      backward.again = forward.compute - core.forward - products.forward / 2;
      backward.host += forward.host / 2;
    } else {
      const Again part = recomputed(c, kind, core.forward, core_ops);
      backward.again = part.seconds;
      backward.host += part.ops * issue + (plan.recomputed.core ? core_ops / ops * jitter : 0);
      if (plan.recomputed.core) {
        core_seconds += core.forward;
        again.cp_forward = once.cp_forward;
      }
    }
  }
  backward.compute += backward.again;
  communicate(c, core.forward, once.tp, once.ep, once.cp_forward, forward);
  communicate(c, core_seconds, once.tp + again.tp, once.ep + again.ep, once.cp_backward + again.cp_forward, backward);
  if (plan.schedule == Schedule::kDualPipe) exchange_beside_both(c, passes);
  return passes;
}

PassPair embedding_passes(const LayerContext& c) {
  PassPair passes;
  const bool tables = c.model.vocab > 0;
  if (!tables && c.model.first.empty()) return passes;
  Products products{c, c.plan.precision};
  end_products(c, c.model.first, products);
  const double weight = products.weight + (c.model.first.empty() ? 0 : accumulation(c, products));
  const double state = static_cast<double>(c.plan.micro_batch) * c.model.embedded / c.plan.cp * (c.element / 2);
  const double host = kEmbeddingOps * c.plan.stack.host * c.operators.issue_seconds();
  passes.forward = {
      .compute = products.forward + moved(c, "embedding", OperatorPass::kForward, machine::OperatorKind::kElementwise,
                                          c.plan.stack.traffic * (13 * state + products.forward_bytes)),
      .tp = c.embedded_s,
      .host = host};
  passes.backward = {.compute = products.input + weight +
                                moved(c, "embedding", OperatorPass::kBackward, machine::OperatorKind::kElementwise,
                                      c.plan.stack.traffic * (17 * state + products.backward_bytes)),
                     .weight = weight,
                     .host = host};
  return passes;
}

PassPair logits_passes(const LayerContext& c) {
  PassPair passes;
  const Logits& logits = c.model.logits;
  if (logits.outputs == 0 && c.model.last.empty()) return passes;
  const base::Count t = c.plan.tp;
  const base::Count tokens = logits.at_one_token ? c.plan.micro_batch : c.tokens;
  const base::Count padded = base::ceil_divide(logits.outputs, 128 * t) * 128;  // of the vocabulary on this rank
  const double state = c.tokens * static_cast<double>(c.model.hidden) * (c.element / 2);
  const double each = c.plan.stack.loss_bytes > 0 ? c.plan.stack.loss_bytes : c.system.calibration.loss_bytes_per_logit;
  const double loss = each / 2 * static_cast<double>(tokens) * static_cast<double>(padded);
  Products products{c, wide(c.plan.precision)};
  end_products(c, c.model.last, products);
  if (padded > 0) products.linear("logits", 1, tokens, padded, logits.width);
  const double weight = products.weight + accumulation(c, products);
  const double host = kLogitsOps * c.plan.stack.host * c.operators.issue_seconds();
  passes.forward = {.compute = products.forward + moved(c, "last norm, loss", OperatorPass::kForward,
                                                        machine::OperatorKind::kNormalisation,
                                                        c.plan.stack.traffic * 4 * state + loss),
                    .host = host};
  passes.backward = {.compute = products.input + weight +
                                moved(c, "last norm, loss", OperatorPass::kBackward,
                                      machine::OperatorKind::kNormalisation, c.plan.stack.traffic * 10 * state + loss),
                     .weight = weight,
                     .tp = c.all_reduce_s,
                     .host = host};
  return passes;
}

PassPair ahead_passes(const LayerContext& c) {
  PassPair passes = layer_passes(c, c.model.kinds[c.model.last_kind]);
  const auto add = [&](const PassPair& more) {
    passes.forward.add(more.forward, 1);
    passes.backward.add(more.backward, 1);
  };
  Products products{c, c.plan.precision};
  const double h = c.model.hidden;
  products.linear("next token", 1, c.tokens, base::ceil_divide(c.model.hidden, c.plan.tp), 2 * c.model.hidden);
  const double weight = products.weight + accumulation(c, products);
  // Two norms and the lookup of the next token.
  const double bytes = 24 * static_cast<double>(c.tokens) * h * c.norm_share * (c.element / 2);
  const double host = kWeightOps * c.plan.stack.host * c.operators.issue_seconds();
  PassPair projection;
  projection.forward = {
      .compute = products.forward + moved(c, kAround, OperatorPass::kForward, machine::OperatorKind::kNormalisation,
                                          bytes + products.forward_bytes),
      .tp = c.all_reduce_s,
      .host = host};
  projection.backward = {.compute = products.input + weight +
                                    moved(c, kAround, OperatorPass::kBackward, machine::OperatorKind::kNormalisation,
                                          2 * bytes + products.backward_bytes),
                         .weight = weight,
                         .tp = c.all_reduce_s,
                         .host = 2 * host};
  add(projection);
  add(logits_passes(c));
  return passes;
}

}  // namespace orrery::cluster
