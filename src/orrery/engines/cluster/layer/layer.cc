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
#include "orrery/engines/cluster/layer/layer.h"

#include <algorithm>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/layer/eager_experts.h"
#include "orrery/engines/cluster/layer/eager_norms.h"
#include "orrery/engines/cluster/layer/layer_communication.h"
#include "orrery/engines/cluster/layer/operators_of_layer.h"
#include "orrery/engines/cluster/model/networks_again.h"

namespace orrery::cluster {
namespace {

constexpr double kCoreOps = 5;  // operators issued by the forward pass of an attention core; backward twice as many
constexpr double kFlashOps = 1;
constexpr double kWeightOps = 4;  // by weight gradients of each part of a layer: two products and their accumulations
// By Megatron-Core for each of a rank's experts, whose products Transformer Engine issues one by one: of either matrix
// forward one and backward two, and the quantisation of what they read, where there is one.
constexpr double kGroupedForwardOps = 2, kGroupedBackwardOps = 4, kGroupedWeightOps = 2, kGroupedQuantiseOps = 2;
// By an adapter's two products, the scale and the sum (PEFT, torchtune, NeMo); by bitsandbytes for a matrix in 4 bits,
// whose blocks' scales are quantised as well (dequantize_4bit): scales, their mean, weights.
constexpr double kAdapterOps = 4, kDequantiseOps = 3;
constexpr double kNetworkOps = 3;  // by a feed-forward network that is done again: two products, the activation
constexpr double kEmbeddingOps = 12;
constexpr double kLogitsOps = 15;

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

// Bytes that a mixture's tokens move at 16 bits, either way, for each element of a copy: written where it is permuted
// to its expert, read where it is weighted. Software that exchanges them reads and writes what it gets once to sort it
// by expert, and once back (Megatron-Core's token_dispatcher.py).
double sorted_bytes(const LayerContext& c, const LayerKind& kind) {
  const Mixture& mixture = kind.mixture;
  const double T = tokens_of(c, kind.seq);
  const double sorts = c.plan.ep > 1 && mixture.count > c.plan.ep ? 12 : 4;
  const double bytes = sorts * T * static_cast<double>(mixture.width) * mixture.top_k * c.norm_share;
  if (!c.plan.stack.fused_experts) return bytes;
  // The products apply the activation; what its gradient needs is read once.
  const bool gated = mixture.up > mixture.inner;
  return bytes -
         (gated ? 6 : 4) * T * mixture.top_k * static_cast<double>(mixture.inner) / static_cast<double>(c.plan.tp);
}

// Matrices of their own that a fused one stands for: queries, keys, values; gate and up projections. Megatron's
// adapters stand beside the fused ones.
double modules_of(const LayerContext& c, const LayerKind& kind, const Matrix& m) {
  if (kin(c.plan.stack.name) != StackName::kPytorchFsdp) return 1;
  if (m.name == "KQV") return m.kv_width > 0 && !kind.cores.empty() && m.kv_width == kind.cores[0].width ? 2 : 3;
  return of_network(m.name) && m.name.ends_with("FF1") && kind.second_operand < 0.5 ? 2 : 1;
}

// What adapters and quantised matrices of a layer add to the operators of a forward pass, and to the bytes of either
// one at 16 bits: results are added forwards, gradients of the input backwards, 4 + 2 for each element. The scale is
// taken as part of a product, as compilers and fused kernels have it.
struct BesideFrozen {
  double ops = 0, forward_bytes = 0, backward_bytes = 0;
};

BesideFrozen beside_frozen(const LayerContext& c, const LayerKind& kind) {
  BesideFrozen out;
  const Plan& plan = c.plan;
  if (plan.lora_rank == 0) return out;
  const double t = plan.tp;
  const double T = tokens_of(c, kind.seq);
  const bool narrow = frozen_bytes(plan, 2) < 2;
  for (const Matrix& m : kind.matrices) {
    if (narrow) out.ops += kDequantiseOps * modules_of(c, kind, m);
    if (!adapted(plan, m.name)) continue;
    out.ops += kAdapterOps * modules_of(c, kind, m);
    const double columns = static_cast<double>(m.out) / (m.split == Split::kColumns ? t : 1) +
                           static_cast<double>(m.kv_heads) * static_cast<double>(m.kv_width) / t;
    const double rows = static_cast<double>(m.in) / (m.split == Split::kRows ? t : 1);
    out.forward_bytes += 6 * T * columns;
    out.backward_bytes += 6 * T * rows;
  }
  return out;
}

// What selective recomputation does again of a layer.
struct Again {
  double seconds = 0, ops = 0;
};

// Products of whole parts.
double products_again(const LayerContext& c, const LayerKind& kind, const NetworksAgain& networks) {
  const Recomputed& what = c.plan.recomputed;
  OperatorUses made;  // adapters among them
  LayerContext apart = c;
  if (c.uses != nullptr) apart.uses = &made;
  Products products{apart, c.plan.precision, true};
  for (const Matrix& m : kind.matrices) {
    if (what.latents && kind.latent && from_latent(m))
      multiply(apart, m, tokens_of(c, kind.seq), products);
    else if (done_again(what, m))
      layer_product(apart, kind, m, products);
  }
  if (networks.experts) expert_products(apart, kind, products);
  for (const OperatorUse& use : made)
    if (use.pass == OperatorPass::kForward)
      note(c, use.name, OperatorPass::kRecomputation, use.one, use.times, use.computes);
  double seconds = products.forward;
  if (networks.whole > 0)
    seconds += moved(c, kAround, OperatorPass::kRecomputation, machine::OperatorKind::kNormalisation,
                     c.plan.stack.traffic * products.forward_bytes);
  return seconds;
}

Again recomputed(const LayerContext& c, const LayerKind& kind, const NetworksAgain& networks, double core,
                 double core_ops) {
  const Recomputed& what = c.plan.recomputed;
  Again again;
  if (what.core) again = {core, core_ops};
  const double tokens = static_cast<double>(tokens_of(c, kind.seq));
  const EagerExperts eager = eager_experts(c, kind);
  double bytes = 0;
  double chains = 0;
  if (what.norms) {
    bytes += kind.parts * 4.0 * kind.width * c.norm_share;
    chains = eager_norms(c, kind).norms_bytes;
    again.ops += kind.parts;
  }
  const double share = kind.kept_inner > 0 ? (networks.whole + networks.activated) / kind.kept_inner : 0;
  if (share > 0) bytes += share * kind.activated[0] / static_cast<double>(c.plan.tp);
  if (networks.activated > 0) ++again.ops;
  if (networks.experts) {
    bytes += (sorted_bytes(c, kind) + eager.forward_bytes) / tokens;
    again.ops += kind.network_operators + eager.forward_ops;
  } else {
    if (networks.whole > 0) again.ops += kNetworkOps;
    if (networks.limits_again) bytes += eager.limits_bytes / tokens, again.ops += eager.limits_ops;
  }
  if (bytes > 0)
    again.seconds += moved(c, kAround, OperatorPass::kRecomputation, machine::OperatorKind::kNormalisation,
                           c.plan.stack.traffic * tokens * bytes * (c.element / 2) + chains);
  if (what.latents && kind.latent) again.ops += 2;
  again.seconds += products_again(c, kind, networks);
  return again;
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

MovedBytes moved_bytes(const LayerContext& c, const LayerKind& kind, const EagerExperts& eager) {
  const double t = c.plan.tp;
  const double T = tokens_of(c, kind.seq);
  const double h = kind.width;
  double heads = 0, keys = 0;
  for (const Core& core : kind.cores) {
    heads += 4 * (core.of_source || core.borrowed ? core.own : core.own + core.keys);
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
  if (kind.mixture.count > 0) {
    const double sorted = sorted_bytes(c, kind);
    bytes.forward += sorted;
    bytes.backward += sorted;
  }
  const BesideFrozen beside = beside_frozen(c, kind);
  bytes.forward += beside.forward_bytes;
  bytes.backward += beside.backward_bytes;
  if (c.plan.lora_rank > 0 && frozen_bytes(c.plan, 2) < 2) {
    // Each pass reads the quantised matrices and writes what the products read.
    const double made = (frozen_bytes(c.plan, 2) + 2) * kind.split_params / t;
    bytes.forward += made;
    bytes.backward += made;
  }
  bytes.forward += eager.forward_bytes;
  bytes.backward += eager.backward_bytes;
  return bytes;
}

}  // namespace

PassPair layer_passes(const LayerContext& c, const LayerKind& kind) {
  const std::size_t begin = c.uses != nullptr ? c.uses->size() : 0;
  const Plan& plan = c.plan;
  Products products{c, plan.precision, true};
  layer_products(c, kind, products);
  const EagerExperts eager = eager_experts(c, kind);
  const MovedBytes bytes = moved_bytes(c, kind, eager);
  const EagerNorms chains = eager_norms(c, kind);
  CoreSeconds core;
  for (const Core& each : kind.cores) add_core(c, kind, each, core);
  const CollectiveSeconds once = collectives_of(c, kind);

  const double jitter = kind.parts * c.system.calibration.jitter_seconds * (static_cast<double>(plan.tp) - 1);
  const bool flash = c.model.attention == Attention::kFlash;
  const double core_ops = static_cast<double>(kind.cores.size()) * (flash ? kFlashOps : kCoreOps);
  const double ops = kind.host_operators + core_ops + beside_frozen(c, kind).ops;
  const double issue = plan.stack.host * c.operators.issue_seconds();
  const base::Count local = kind.mixture.count > 0 ? kind.mixture.count / plan.ep : 0;
  const double grouped = kin(plan.stack.name) == StackName::kMegatronCore && local > 1 && !plan.stack.fused_experts
                             ? static_cast<double>(local) * issue
                             : 0;
  const double quantised = machine::quantised(plan.precision) ? kGroupedQuantiseOps : 0;

  PassPair passes;
  Pass& forward = passes.forward;
  forward.compute =
      products.forward + core.forward +
      moved(c, kAround, OperatorPass::kForward, machine::OperatorKind::kNormalisation,
            plan.stack.traffic * (bytes.forward * (c.element / 2) + products.forward_bytes) + chains.forward_bytes);
  forward.host = (ops + eager.forward_ops) * issue + (kGroupedForwardOps + quantised) * grouped + jitter;

  Pass& backward = passes.backward;
  backward.weight = products.weight + accumulation(c, products);
  backward.compute =
      products.input + backward.weight + core.backward +
      moved(c, kAround, OperatorPass::kBackward, machine::OperatorKind::kNormalisation,
            plan.stack.traffic * (bytes.backward * (c.element / 2) + products.backward_bytes) + chains.backward_bytes);
  backward.host = (2 * ops + eager.backward_ops) * issue + (kGroupedBackwardOps + quantised) * grouped + jitter;
  backward.weight_host = kind.parts * kWeightOps * issue + kGroupedWeightOps * grouped;
  CollectiveSeconds again;
  double core_seconds = core.backward;
  if (c.uses != nullptr) note_again(c, begin);
  const double share = share_again(plan, c.model.layers);
  if (plan.recompute == Recompute::kFull) {
    backward.again = forward.compute;
    backward.host += share * forward.host;
    core_seconds += share * core.forward;
    again = once;
  } else if (plan.recompute == Recompute::kSelective) {
    if (plan.stack.keeps_core) {
      backward.again = forward.compute - core.forward - products.forward / 2;
      backward.host += share * forward.host / 2;
    } else {
      const NetworksAgain networks = networks_again(plan.recomputed, kind, expert_rows(plan));
      const Again part = recomputed(c, kind, networks, core.forward, core_ops);
      backward.again = part.seconds;
      backward.host += share * (part.ops * issue + (plan.recomputed.core ? core_ops / ops * jitter : 0));
      if (networks.experts) {
        backward.host += share * (kGroupedForwardOps + quantised) * grouped;
        again.ep = once.ep;
      }
      const bool whole_experts = kind.mixture.count > 0 && kind.inner == 0 && expert_tp(plan) < plan.tp;
      if (networks.whole > 0 && !whole_experts) again.tp = once.tp / kind.parts;
      if (plan.recomputed.core) {
        core_seconds += share * core.forward;
        again.cp_forward = once.cp_forward;
      }
    }
  }
  backward.again *= share;
  again = {share * again.tp, share * again.ep, share * again.cp_forward, share * again.cp_backward};
  if (c.uses != nullptr)
    for (std::size_t i = begin; i < c.uses->size(); ++i)
      if (OperatorUse& use = (*c.uses)[i]; use.pass == OperatorPass::kRecomputation) use.times *= share;
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
  PassPair passes;
  const auto add = [&](const PassPair& more) {
    passes.forward.add(more.forward, 1);
    passes.backward.add(more.backward, 1);
  };
  for (const std::size_t kind : c.model.ahead_kinds) add(layer_passes(c, c.model.kinds[kind]));
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
