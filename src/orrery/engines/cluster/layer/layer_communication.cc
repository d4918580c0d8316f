#include "orrery/engines/cluster/layer/layer_communication.h"

#include <algorithm>

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/cluster/layer/operators_of_layer.h"

namespace orrery::cluster {
namespace {

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

}  // namespace

collective::Group group(const LayerContext& c, base::Count ranks, base::Count stride) {
  return collective::place(c.system.fabric, static_cast<int>(ranks), static_cast<int>(stride));
}

void communicate(const LayerContext& c, double core, double tp, double ep, double cp, Pass& pass) {
  const Plan& plan = c.plan;
  const Overlap& overlap = plan.overlap;
  const double contention = plan.stack.contention;
  const bool deferred = defers_weights(plan.schedule);
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

CollectiveSeconds collectives_of(const LayerContext& c, const LayerKind& kind) {
  const Mixture& mixture = kind.mixture;
  const bool experts = mixture.count > 0;
  const Plan& plan = c.plan;
  const double t = plan.tp;
  const double T = tokens_of(c, kind.seq);
  const double h = kind.width;
  CollectiveSeconds out;
  if (experts && plan.ep > 1) {
    const double rows = T * (expert_tp(plan) < plan.tp ? 1.0 / t : c.norm_share) * static_cast<double>(mixture.width) *
                        copies_of_token(c, mixture) * expert_rows(plan);
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

}  // namespace orrery::cluster
