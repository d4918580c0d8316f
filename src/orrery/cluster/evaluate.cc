// One training iteration on the slowest stage of the pipeline.
//
// Stage i spends tau_i on a microbatch, forward and backward. Device and host work beside each other; the longer one
// dominates, and where they are close each waits for the other at times:
//
//   tau = (device^5 + host^5)^(1/5)      for the forward and for the backward pass
//
// Pipeline of m microbatches, p stages, v chunks each:
//
//   GPipe, 1F1B         max over i of  m tau_i + (sum of the others' tau) / v   (Narayanan 2021, sec. 2.2)
//   zero-bubble (H1)    the longest way through the events; of equal stages m (F + B + W) + (p - 1)(F + B - min(F, B,
//   W)),
//                       of which arXiv 2401.10241 has the case W <= F, B
//
// "Max over i" includes what stage i leaves exposed at the end: the stage that ends last decides. That also makes the
// time monotone: no faster part can make an iteration longer.
//
// A boundary is crossed 2 (m v + p - 1) times, P seconds each: a rank sends its 1/t of the tensor, the receivers gather
// it among themselves. At the end: gradients over the data-parallel ranks, the tied embedding's between first and last
// stage, the optimiser's step.
//
// Fifth power, this form and its constants: docs/model/cluster.md, which also shows how well it does. Cost: two
// layers' passes, at most four kinds of stages, six collectives.
#include "orrery/cluster/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "orrery/base/check.h"
#include "orrery/cluster/flops.h"
#include "orrery/cluster/layer.h"
#include "orrery/cluster/memory.h"
#include "orrery/cluster/stages.h"
#include "orrery/collective/collective.h"

namespace orrery::cluster {
namespace {

using collective::Operation;

// (device^5 + host^5)^(1/5).
double joined(double device, double host) {
  const double longer = std::max(device, host);
  if (longer == 0) return 0;
  const double ratio = std::min(device, host) / longer;
  const double squared = ratio * ratio;
  return longer * std::pow(1 + squared * squared * ratio, 0.2);
}

struct Stage {
  PassPair passes;
  double forward = 0, backward = 0;  // tau
  double weight = 0;                 // the part of `backward` that zero-bubble schedules put off

  double tau() const { return forward + backward; }
  double input() const { return backward - weight; }
};

// `split`: the schedule puts off weight gradients. What remains of the backward pass then is the time that its other
// work would take alone.
Stage finished(const PassPair& passes, bool split) {
  Stage stage{passes};
  const Pass& backward = passes.backward;
  stage.forward = joined(passes.forward.device(), passes.forward.host);
  stage.backward = joined(backward.device(), backward.host);
  if (split) {
    stage.weight = stage.backward - joined(backward.device() - backward.weight, backward.host - backward.weight_host);
  }
  return stage;
}

// Stages of one kind: how many there are, and where the first and the last of them stand.
struct Kind {
  Stage stage;
  double count = 0;
  double front = 0, back = 0;
};

// First, longer ones between, shorter ones between, last.
using Pipeline = std::array<Kind, 4>;

Pipeline pipeline(const LayerContext& context) {
  const Model& model = context.model;
  const base::Count p = context.plan.pp;
  const bool mixed = expert_layers(model) > 0;
  PassPair dense, experts;
  if (!mixed || expert_layers(model) < model.layers) dense = layer_passes(context, false);
  if (mixed) experts = layer_passes(context, true);

  const auto layers = [&](base::Count stage) {
    const StageLayers own = stage_layers(model, p, stage);
    PassPair sum;
    sum.forward.add(dense.forward, own.dense);
    sum.backward.add(dense.backward, own.dense);
    if (mixed) {
      sum.forward.add(experts.forward, own.experts);
      sum.backward.add(experts.backward, own.experts);
    }
    return sum;
  };
  const auto with = [](PassPair sum, const PassPair& more) {
    sum.forward.add(more.forward, 1);
    sum.backward.add(more.backward, 1);
    return sum;
  };
  const PassPair embedding = embedding_passes(context);
  const PassPair logits = logits_passes(context);

  const bool split = context.plan.schedule == Schedule::kZeroBubble;
  Pipeline result;
  if (p == 1) {
    result[0] = {finished(with(with(layers(0), embedding), logits), split), 1};
    return result;
  }
  const auto end = static_cast<double>(p - 1);
  result[0] = {finished(with(layers(0), embedding), split), 1};
  result[3] = {finished(with(layers(p - 1), logits), split), 1, end, end};
  if (p > 2) {
    // The longer stages between come first.
    const base::Count longest = layers_of_stage(model.layers, p, 1);
    base::Count longer = p - 2;
    if (model.layers % p != 0 && longest > model.layers / p) {
      longer = model.layers % p - (layers_of_stage(model.layers, p, 0) == longest ? 1 : 0);
    }
    const auto border = static_cast<double>(longer);
    result[1] = {finished(layers(1), split), border, 1, border};
    if (longer < p - 2) result[2] = {finished(layers(p - 2), split), end - 1 - border, border + 1, end - 1};
  }
  return result;
}

// From the first forward to the end of a zero-bubble pipeline, as far as stages of `kind` decide it: the longest of
// the ways through the events that meet stage s (see simulate() in schedule.h). Stage s waits for the first microbatch
// to go to the end and come back, works off the rest, and either ends with its own weight gradients or hands the last
// microbatch back to the first stage, s weight gradients still to do.
double zero_bubble_seconds(const Pipeline& pipe, const Kind& kind, double m, double p) {
  const Stage& stage = kind.stage;
  double longest = 0;
  for (const double s : {kind.front, kind.back}) {
    double forwards_before = 0, before = 0, behind = 0;  // of the stages on either side
    for (const Kind& other : pipe) {
      if (other.count == 0) continue;
      const double fewer = std::clamp(s - other.front, 0.0, other.count);
      const double more = std::clamp(other.back - s, 0.0, other.count);
      forwards_before += fewer * other.stage.forward;
      before += fewer * (other.stage.forward + other.stage.input());
      behind += more * (other.stage.forward + other.stage.input());
    }
    const double own = (m - p + s + 1) * stage.forward + m * stage.input();
    const double last = s > 0 ? (m - 1 - s) * stage.weight + pipe[0].stage.weight : m * stage.weight;
    const double hands_back = before + behind + own + last;
    const double ends_here = forwards_before + std::max(m * stage.tau(), behind + own + m * stage.weight);
    longest = std::max({longest, hands_back, ends_here});
  }
  return longest;
}

// What a stage of `kind` waits in all for the others.
double bubble(const Plan& plan, const Pipeline& pipe, const Kind& kind, double m) {
  if (plan.pp == 1) return 0;
  const double own = kind.stage.tau();
  if (plan.schedule == Schedule::kZeroBubble) {
    return zero_bubble_seconds(pipe, kind, m, static_cast<double>(plan.pp)) - m * own;
  }
  double all = 0;
  for (const Kind& each : pipe) all += each.count * each.stage.tau();
  return std::max(0.0, all - own) / static_cast<double>(plan.interleave);
}

// Seconds of one boundary crossing.
double boundary(const LayerContext& c) {
  const Plan& plan = c.plan;
  const collective::Fabric& fabric = c.system.fabric;
  const double state = c.element * c.tokens * c.model.hidden;
  const int level = collective::level_between(fabric, static_cast<int>(plan.tp * plan.cp * plan.dp));
  double seconds = collective::message_seconds(fabric, level, state / plan.tp);
  if (plan.tp > 1) {
    seconds += collective::volume_bound(Operation::kAllGather, fabric,
                                        collective::place(fabric, static_cast<int>(plan.tp), 1), state);
  }
  return seconds;
}

// Seconds to add the gradients of the matrix that embedding and logits share, on the first and the last stage.
double tied_embedding(const LayerContext& c) {
  if (!c.model.tied_embedding || c.model.vocab == 0) return 0;
  const Plan& plan = c.plan;
  const auto apart = static_cast<int>(plan.tp * plan.cp * plan.dp * (plan.pp - 1));
  return collective::seconds(Operation::kAllReduce, c.system.fabric, collective::place(c.system.fabric, 2, apart),
                             c.element * c.model.vocab * c.model.hidden / plan.tp);
}

struct GradientSync {
  double gather = 0;  // weights, before and under ZeRO-3 during the passes
  double reduce = 0;  // gradients
};

// Over `ranks` replicas that are `stride` apart, of `params` parameters on each.
GradientSync sync(const LayerContext& c, double params, base::Count ranks, base::Count stride, double m) {
  if (ranks <= 1 || params <= 0) return {};
  const Plan& plan = c.plan;
  const collective::Group group = collective::place(c.system.fabric, static_cast<int>(ranks), static_cast<int>(stride));
  const auto seconds = [&](Operation operation, double bytes) {
    return collective::seconds(operation, c.system.fabric, group, bytes);
  };
  const double gradient = plan.reduce_fp32 ? 4 : c.element;
  if (plan.zero == 0) return {0, seconds(Operation::kAllReduce, gradient * params)};
  const double gather = seconds(Operation::kAllGather, c.element * params);
  const double scatter = seconds(Operation::kReduceScatter, gradient * params);
  // Sharded gradients leave every microbatch; sharded weights come for every pass.
  return {plan.zero == 3 ? 2 * m * gather : gather, plan.zero >= 2 ? m * scatter : scatter};
}

// Communication between ranks of different stages and replicas, seconds, before overlap.
struct Outside {
  double crossing = 0;   // of one boundary, once
  double steady = 0;     // crossings beside the steady state's work
  double ends = 0;       // crossings of fill and drain
  double embedding = 0;  // the tied matrix
  GradientSync gradients;
};

// The iteration as stages of one kind see it.
struct View {
  double bubble = 0;
  double hidden_pp = 0, hidden_dp = 0;
  double seconds = 0;  // that depend on the kind
};

View seen_by(const Kind& kind, const Plan& plan, const Pipeline& pipe, const Outside& outside, double m) {
  const Stage& stage = kind.stage;
  View view;
  view.bubble = bubble(plan, pipe, kind, m);
  double forwards = (plan.zero == 3 ? m : 1) * stage.forward;
  double backwards = (plan.zero >= 2 ? m : 1) * stage.backward;
  double work = m * stage.tau();
  if (plan.schedule == Schedule::kZeroBubble) {
    // Weight gradients that are put off belong to no microbatch's turn: every turn is given the same part of the whole,
    // a third of it forward.
    const double turn = (work + view.bubble) / (m + static_cast<double>(plan.pp) - 1);
    forwards = turn / 3;
    backwards = turn - forwards;
    work = m * turn;
  }
  const double gather = std::min(outside.gradients.gather, forwards + (plan.zero == 3 ? backwards : 0));
  const double gathered = plan.overlap.dp * gather;
  const double left = backwards - std::max(0.0, plan.zero == 3 ? gathered - forwards : 0.0);
  view.hidden_dp = gathered + plan.overlap.dp * std::min(outside.gradients.reduce, std::max(0.0, left));
  view.hidden_pp = plan.overlap.pp * std::min(outside.steady * outside.crossing, std::max(0.0, work - view.hidden_dp));
  view.seconds = m * stage.tau() + view.bubble - view.hidden_pp - view.hidden_dp;
  return view;
}

StageTimes times_of(const Stage& stage) {
  return {stage.forward, stage.backward, stage.weight};
}

}  // namespace

Iteration evaluate(const Model& model, const System& system, const Plan& plan,
                   const machine::OperatorModel& operators) {
  const auto m = static_cast<double>(microbatches(plan));
  ORRERY_CHECK(m >= 1, "the plan is not possible(); it has no microbatch");
  const LayerContext context = layer_context(model, system, plan, operators);
  const Pipeline pipe = pipeline(context);

  Outside outside;
  StageParameters params = stage_parameters(model, plan, 0);
  if (plan.pp > 1) {
    outside.crossing = boundary(context);
    outside.steady = 2 * m * static_cast<double>(plan.interleave);
    outside.ends = 2 * (plan.pp - 1.0);
    outside.embedding = tied_embedding(context);
    const StageParameters next = stage_parameters(model, plan, 1);
    if (next.dense + next.experts > params.dense + params.experts) params = next;
  }
  const base::Count replicas = plan.dp * plan.cp;
  outside.gradients = sync(context, params.dense, replicas, plan.tp, m);
  const GradientSync experts = sync(context, params.experts, replicas / plan.ep, plan.tp * plan.ep, m);
  outside.gradients.gather += experts.gather;
  outside.gradients.reduce += experts.reduce;

  // The stage that ends last decides.
  const Kind* slowest = nullptr;
  View view;
  for (const Kind& kind : pipe) {
    if (kind.count == 0) continue;
    const View candidate = seen_by(kind, plan, pipe, outside, m);
    if (slowest != nullptr && candidate.seconds <= view.seconds) continue;
    slowest = &kind;
    view = candidate;
  }
  const Stage& slow = slowest->stage;
  const Pass& forward = slow.passes.forward;
  const Pass& backward = slow.passes.backward;

  Iteration result;
  Breakdown& time = result.breakdown;
  HiddenCommunication& hidden = result.hidden;
  result.microbatches = m;
  time.forward = m * (slow.forward - forward.exposed());
  const double backward_work = m * (slow.backward - backward.exposed());
  time.recompute = backward.compute > 0 ? backward_work * backward.again / backward.compute : 0;
  time.backward = backward_work - time.recompute;
  time.tp_exposed = m * (forward.tp + backward.tp);
  time.ep_exposed = m * (forward.ep + backward.ep);
  time.cp_exposed = m * (forward.cp + backward.cp);
  hidden.tp = m * (forward.tp_hidden + backward.tp_hidden);
  hidden.ep = m * (forward.ep_hidden + backward.ep_hidden);
  hidden.cp = m * (forward.cp_hidden + backward.cp_hidden);

  time.bubble = view.bubble;
  hidden.pp = view.hidden_pp;
  hidden.dp = view.hidden_dp;
  const double crossings = outside.steady + outside.ends;
  if (crossings > 0) result.boundary_s = (crossings * outside.crossing - hidden.pp) / crossings;
  time.pp_exposed = crossings * result.boundary_s + outside.embedding;
  time.dp_exposed = std::max(0.0, outside.gradients.gather + outside.gradients.reduce - hidden.dp);

  const double shard = plan.zero >= 1 ? static_cast<double>(replicas) : 1;
  const double own = params.dense / shard + params.experts / (plan.zero >= 1 ? shard / plan.ep : 1);
  time.optimizer = operators.memory_bound_seconds(system.calibration.optimizer_bytes_per_param * own) +
                   system.calibration.iteration_seconds;

  result.iteration_s = time.sum();
  result.memory = memory(model, plan);
  result.capacity_bytes = system.accelerator.memory_bytes;
  result.excess_bytes = std::max(0.0, result.memory.total() - result.capacity_bytes);
  result.fits = result.excess_bytes == 0;

  const double gpus = static_cast<double>(plan.gpus);
  const double peak = system.accelerator.peak(plan.precision);
  const double batch = static_cast<double>(plan.global_batch);
  const double rate = batch / (result.iteration_s * gpus);  // sequences/s of one accelerator
  const double flops_per_s = model_flops_per_sequence(model) * rate;
  result.mfu = flops_per_s / peak;
  result.hfu = hardware_flops_per_sequence(model, plan.recompute) * rate / peak;
  result.tflops_per_gpu = flops_per_s / 1e12;
  result.tokens_per_s = batch * model.seq / result.iteration_s;

  result.first = times_of(pipe[0].stage);
  result.last = plan.pp > 1 ? times_of(pipe[3].stage) : result.first;
  result.middle = plan.pp > 2 ? times_of(pipe[1].stage) : result.first;
  result.drain_s = time.dp_exposed + outside.embedding + time.optimizer;
  return result;
}

double seconds_to_train(const Iteration& iteration, double tokens) {
  return tokens / iteration.tokens_per_s;
}

}  // namespace orrery::cluster
