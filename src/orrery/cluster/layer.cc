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
// Tensor parallelism: two all-reduces of the hidden state each way; sequence parallelism replaces each by a
// reduce-scatter and an all-gather of the same volume and is given the same time. Experts: tokens go out and come back
// by all-to-all each way. Context parallelism: keys and values travel once around the ring; in the backward pass they
// do so again, together with their gradients.
//
// The byte counts of the plain GPT were counted on Megatron-LM's kernels and checked against measurements (see
// docs/model/cluster.md). Cost: 14 products and three collectives.
#include "orrery/cluster/layer.h"

#include <algorithm>

#include "orrery/collective/collective.h"

namespace orrery::cluster {
namespace {

constexpr double kLayerOps = 22;  // operators issued by a layer's forward pass; backward twice as many
constexpr double kCoreOps = 5;    // of them by the attention core
constexpr double kFlashOps = 1;
constexpr double kLatentOps = 4;   // more, for the latent's projections and norms
constexpr double kExpertOps = 12;  // more, for routing and permuting
constexpr double kWeightOps = 8;   // of the backward pass's, by weight gradients: a product and its accumulation each
constexpr double kEmbeddingOps = 12;
constexpr double kLogitsOps = 15;

constexpr double kFlashBackwardEfficiency = 0.86;  // of the forward pass's

// Sums products' times: forward, with respect to the input, with respect to the weights.
struct Products {
  const machine::OperatorModel& operators;
  machine::Precision precision;
  double forward = 0, input = 0, weight = 0;
  double forward_bytes = 0, backward_bytes = 0;  // of making 8-bit operands
  double parameters = 0;

  // y = x w with x of m x k and w of k x n.
  void linear(base::Count batch, base::Count m, base::Count n, base::Count k) {
    if (precision == machine::Precision::kFp8) {
      const double rows = static_cast<double>(batch * m);
      forward_bytes += 3 * rows * k;
      backward_bytes += rows * (2 * k + 4 * n);
    }
    parameters += static_cast<double>(batch) * n * k;
    forward += operators.matrix_product_seconds({batch, m, n, k, precision});
    input += operators.matrix_product_seconds({batch, m, k, n, precision});
    weight += operators.matrix_product_seconds({batch, k, n, m, precision});
  }
};

// Overlaps `seconds` with what is left of `window`.
double hide(double share, double seconds, double& window) {
  const double hidden = share * std::min(seconds, window);
  window -= hidden;
  return hidden;
}

// Overlaps the communication of one pass with its operators; deferred weight gradients are not among them.
void communicate(const Plan& plan, double core, double tp, double ep, double cp, Pass& pass) {
  const Overlap& overlap = plan.overlap;
  double window = pass.compute - (plan.schedule == Schedule::kZeroBubble ? pass.weight : 0);
  double core_window = std::min(core, window);
  pass.cp_hidden = hide(overlap.cp, cp, core_window);
  window -= pass.cp_hidden;
  pass.tp_hidden = hide(overlap.tp, tp, window);
  pass.ep_hidden = hide(overlap.ep, ep, window);
  pass.tp = tp - pass.tp_hidden;
  pass.ep = ep - pass.ep_hidden;
  pass.cp = cp - pass.cp_hidden;
}

// Seconds to add weight gradients up in a pass of its own.
double accumulation(const LayerContext& c, const Products& products) {
  if (c.plan.fused_accumulation) return 0;
  const double sum = c.plan.main_gradients_fp32 ? 4 : c.element;
  const double copy = c.plan.converted_gradients && sum > c.element ? 2 * sum : 0;
  return c.operators.memory_bound_seconds((c.element + 2 * sum + copy) * products.parameters);
}

struct Core {
  double forward = 0, backward = 0;
};

Core attention_core(const LayerContext& c) {
  const base::Count own = c.model.seq / c.plan.cp;  // queries of a sequence on this rank
  const base::Count batch = c.plan.micro_batch * (c.model.heads / c.plan.tp);
  // Attention stays in 16 bits where products are in 8.
  const machine::Precision precision =
      c.plan.precision == machine::Precision::kFp8 ? machine::Precision::kBf16 : c.plan.precision;
  const auto product = [&](base::Count n, base::Count k) {
    return c.operators.matrix_product_seconds({batch, own, n, k, precision});
  };
  const auto scores_width = static_cast<base::Count>(c.shape.score_width);
  const auto values_width = static_cast<base::Count>(c.shape.value_width);
  const double values = product(values_width, c.model.seq);
  if (c.model.attention == Attention::kFlash) {
    const double queries = scores_width == values_width ? values : product(scores_width, c.model.seq);
    const double forward = core_share(c.model) * (values + queries) / c.system.calibration.fused_attention_share;
    return {forward, core_backward_products(c.model) / kFlashBackwardEfficiency * forward};
  }
  const double scores = product(c.model.seq, scores_width);
  const double q = static_cast<double>(batch) * own * c.model.seq * (c.element / 2);
  return {scores + values + c.operators.memory_bound_seconds(9 * q),
          2 * (scores + values) + c.operators.memory_bound_seconds(11 * q)};
}

// Projections around the core.
void attention_products(const LayerContext& c, Products& sum) {
  const base::Count t = c.plan.tp;
  const base::Count h = c.model.hidden;
  const base::Count T = c.tokens;
  if (c.model.latent.kv_rank > 0) {
    const LatentAttention& latent = c.model.latent;
    const auto queries = static_cast<base::Count>(c.shape.query) / t;
    if (latent.q_rank > 0) {
      sum.linear(1, T, latent.q_rank, h);
      sum.linear(1, T, queries, latent.q_rank);
    } else {
      sum.linear(1, T, queries, h);
    }
    sum.linear(1, T, latent.kv_rank + latent.rope_width, h);
    sum.linear(1, T, c.model.heads * (latent.nope_width + latent.value_width) / t, latent.kv_rank);
  } else {
    // Fewer key/value heads than ranks: every rank has at least one.
    const base::Count kv_heads = std::max<base::Count>(1, c.model.kv_heads / t);
    sum.linear(1, T, (c.model.heads / t + 2 * kv_heads) * c.model.head_width, h);
  }
  sum.linear(1, T, h, static_cast<base::Count>(c.shape.value) / t);
}

// Two products, or three with a gate; gate and up are one.
void feed_forward_products(const LayerContext& c, base::Count batch, base::Count rows, base::Count width,
                           Products& sum) {
  sum.linear(batch, rows, (c.model.gated ? 2 : 1) * width, c.model.hidden);
  sum.linear(batch, rows, c.model.hidden, width);
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
  LayerContext c{model, system, plan, operators, layer_shape(model)};
  c.tokens = plan.micro_batch * (model.seq / plan.cp);
  c.element = machine::bytes_per_element(plan.precision) == 4 ? 4 : 2;
  c.norm_share = plan.sequence_parallel ? 1.0 / plan.tp : 1;
  if (plan.tp > 1) {
    c.all_reduce_s = collective::seconds(collective::Operation::kAllReduce, system.fabric, group(c, plan.tp, 1),
                                         c.element * c.tokens * model.hidden);
  }
  return c;
}

PassPair layer_passes(const LayerContext& c, bool experts) {
  const Experts& mixture = c.model.experts;
  const Plan& plan = c.plan;
  const double t = plan.tp;
  const double T = c.tokens;
  const double h = c.model.hidden;

  Products products{c.operators, plan.precision};
  attention_products(c, products);
  double inner = c.model.ffn;  // width that the activation function sees, of all experts a token visits
  if (experts) {
    products.linear(1, static_cast<base::Count>(T * c.norm_share), mixture.count, c.model.hidden);
    const base::Count local = mixture.count / plan.ep;
    const base::Count rows = base::ceil_divide(c.tokens * mixture.top_k, local);
    feed_forward_products(c, local, rows, mixture.ffn / plan.tp, products);
    if (mixture.shared > 0) feed_forward_products(c, 1, c.tokens, mixture.shared * mixture.ffn / plan.tp, products);
    inner = static_cast<double>((mixture.top_k + mixture.shared) * mixture.ffn);
  } else {
    feed_forward_products(c, 1, c.tokens, c.model.ffn / plan.tp, products);
  }

  const bool fused = !c.model.biases && !c.model.dropout;
  const double heads = 4 * (c.shape.query + 2 * c.shape.key_value + c.shape.value);
  double forward_bytes = T * ((fused ? 16 : 22) * h * c.norm_share + ((c.model.gated ? 6 : 4) * inner + heads) / t);
  double backward_bytes =
      T * ((fused ? 28 : 42) * h * c.norm_share + ((c.model.gated ? 10 : 6) * inner + 1.5 * heads) / t);
  if (experts) {
    // Permuting tokens to their experts and back: read and write, both ways.
    forward_bytes += 8 * T * h * mixture.top_k * c.norm_share;
    backward_bytes += 8 * T * h * mixture.top_k * c.norm_share;
  }
  const Core core = attention_core(c);

  double ep = 0;
  if (experts && plan.ep > 1) {
    const collective::Group ranks = group(c, plan.ep, plan.tp);
    const base::Count copies = mixture.max_nodes > 0 ? std::min(mixture.top_k, mixture.max_nodes) : mixture.top_k;
    const double rows = T * c.norm_share * h * copies;
    // Out in the products' precision, back in the activations'.
    const double out = std::min(c.element, machine::bytes_per_element(plan.precision));
    ep = collective::seconds(collective::Operation::kAllToAll, c.system.fabric, ranks, out * rows) +
         collective::seconds(collective::Operation::kAllToAll, c.system.fabric, ranks, c.element * rows);
  }
  double cp_forward = 0;
  double cp_backward = 0;
  if (plan.cp > 1) {
    const collective::Group ranks = group(c, plan.cp, plan.tp);
    // Fewer key/value heads than ranks: every rank has a copy of one.
    const double width = std::max(c.shape.key_value / t, c.shape.key_value / static_cast<double>(c.model.kv_heads));
    const double gathered = 2 * c.element * T * plan.cp * width;
    cp_forward = collective::seconds(collective::Operation::kAllGather, c.system.fabric, ranks, gathered);
    cp_backward =
        cp_forward + collective::seconds(collective::Operation::kReduceScatter, c.system.fabric, ranks, gathered);
  }
  const double tp = 2 * c.all_reduce_s;
  const double jitter = 2 * c.system.calibration.jitter_seconds * (t - 1);
  const bool flash = c.model.attention == Attention::kFlash;
  const double core_ops = flash ? kFlashOps : kCoreOps;
  const double ops =
      kLayerOps - kCoreOps + core_ops + (c.model.latent.kv_rank > 0 ? kLatentOps : 0) + (experts ? kExpertOps : 0);
  const double issue = c.operators.issue_seconds();

  PassPair passes;
  Pass& forward = passes.forward;
  forward.compute = products.forward + core.forward +
                    c.operators.memory_bound_seconds(forward_bytes * (c.element / 2) + products.forward_bytes);
  forward.host = ops * issue + jitter;

  Pass& backward = passes.backward;
  backward.weight = products.weight + accumulation(c, products);
  backward.compute = products.input + backward.weight + core.backward +
                     c.operators.memory_bound_seconds(backward_bytes * (c.element / 2) + products.backward_bytes);
  backward.host = 2 * ops * issue + jitter;
  backward.weight_host = kWeightOps * issue;
  double again_tp = 0, again_ep = 0, again_cp = 0, core_seconds = core.backward;
  if (plan.recompute == Recompute::kFull) {
    backward.again = forward.compute;
    backward.host += forward.host;
    core_seconds += core.forward;
    again_tp = tp;
    again_ep = ep;
    again_cp = cp_forward;
  } else if (plan.recompute == Recompute::kSelective) {
    backward.again = core.forward;
    backward.host += core_ops / ops * forward.host;
    core_seconds += core.forward;
    again_cp = cp_forward;
  }
  backward.compute += backward.again;
  communicate(plan, core.forward, tp, ep, cp_forward, forward);
  communicate(plan, core_seconds, tp + again_tp, ep + again_ep, cp_backward + again_cp, backward);
  return passes;
}

PassPair embedding_passes(const LayerContext& c) {
  PassPair passes;
  if (c.model.vocab == 0) return passes;
  const double state = c.tokens * static_cast<double>(c.model.hidden) * (c.element / 2);
  const double host = kEmbeddingOps * c.operators.issue_seconds();
  passes.forward = {.compute = c.operators.memory_bound_seconds(13 * state), .tp = c.all_reduce_s, .host = host};
  passes.backward = {.compute = c.operators.memory_bound_seconds(17 * state), .host = host};
  return passes;
}

PassPair logits_passes(const LayerContext& c) {
  PassPair passes;
  if (c.model.vocab == 0) return passes;
  const base::Count t = c.plan.tp;
  const base::Count padded = base::ceil_divide(c.model.vocab, 128 * t) * 128;  // of the vocabulary on this rank
  const double state = c.tokens * static_cast<double>(c.model.hidden) * (c.element / 2);
  const double loss =
      c.system.calibration.loss_bytes_per_logit / 2 * static_cast<double>(c.tokens) * static_cast<double>(padded);
  Products products{c.operators,
                    c.plan.precision == machine::Precision::kFp8 ? machine::Precision::kBf16 : c.plan.precision};
  products.linear(1, c.tokens, padded, c.model.hidden);
  const double weight = products.weight + accumulation(c, products);
  const double host = kLogitsOps * c.operators.issue_seconds();
  passes.forward = {.compute = products.forward + c.operators.memory_bound_seconds(4 * state + loss), .host = host};
  passes.backward = {.compute = products.input + weight + c.operators.memory_bound_seconds(10 * state + loss),
                     .weight = weight,
                     .tp = c.all_reduce_s,
                     .host = host};
  return passes;
}

}  // namespace orrery::cluster
