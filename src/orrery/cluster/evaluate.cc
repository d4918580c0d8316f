// One training iteration on the slowest stage of the pipeline.
//
// Stage i spends tau_i on a microbatch, forward and backward. Device and host work beside each other; the longer one
// dominates, and where they are close each waits for the other at times:
//
//   tau = (device^5 + host^5)^(1/5)      for the forward and for the backward pass
//
// Pipeline of m microbatches, p stages, v chunks each:
//
//   1F1B, interleaved   m max tau + (sum tau - max tau) / v                     (Narayanan 2021, sec. 2.2)
//   GPipe               forwards and backwards each have their own slowest stage: sum + (m - 1) max of each
//   zero-bubble (H1)    as 1F1B, but the other stages put off weight gradients: each is waited for F + B - min(W, F, B)
//                       instead of F + B + W; the paper has the case W <= F, B  (arXiv 2401.10241);
//                       of unequal stages, the one that puts off least counts for all
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
  // What a zero-bubble schedule takes off the wait for this stage; a pass includes its boundary's crossing.
  double put_off(double crossing) const {
    return weight + std::min({weight, forward + crossing, backward - weight + crossing});
  }
};

Stage finished(const PassPair& passes) {
  Stage stage{passes};
  stage.forward = joined(passes.forward.device(), passes.forward.host);
  stage.backward = joined(passes.backward.device(), passes.backward.host);
  const double device = passes.backward.device();
  stage.weight = device > 0 ? stage.backward * passes.backward.weight / device : 0;
  return stage;
}

// Stages of one kind, and how many there are.
struct Kind {
  Stage stage;
  double count = 0;
};

struct Pipeline {
  std::array<Kind, 4> kinds;  // first, longer ones between, shorter ones between, last
  int slowest = 0;

  const Stage& slow() const { return kinds[slowest].stage; }
};

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

  Pipeline result;
  if (p == 1) {
    result.kinds[0] = {finished(with(with(layers(0), embedding), logits)), 1};
    return result;
  }
  result.kinds[0] = {finished(with(layers(0), embedding)), 1};
  result.kinds[3] = {finished(with(layers(p - 1), logits)), 1};
  if (p > 2) {
    // The longer stages between come first.
    const base::Count longest = layers_of_stage(model.layers, p, 1);
    base::Count longer = p - 2;
    if (model.layers % p != 0 && longest > model.layers / p) {
      longer = model.layers % p - (layers_of_stage(model.layers, p, 0) == longest ? 1 : 0);
    }
    result.kinds[1] = {finished(layers(1)), static_cast<double>(longer)};
    if (longer < p - 2) result.kinds[2] = {finished(layers(p - 2)), static_cast<double>(p - 2 - longer)};
  }
  for (int kind = 1; kind < 4; ++kind) {
    if (result.kinds[kind].count > 0 && result.kinds[kind].stage.tau() > result.slow().tau()) result.slowest = kind;
  }
  return result;
}

// Waiting of the slowest stage.
double bubble(const Plan& plan, const Pipeline& pipe, double m, double crossing) {
  double forwards = 0, backwards = 0, longest_forward = 0, longest_backward = 0;
  double put_off = pipe.slow().put_off(crossing);
  for (const Kind& kind : pipe.kinds) {
    if (kind.count == 0) continue;
    forwards += kind.count * kind.stage.forward;
    backwards += kind.count * kind.stage.backward;
    longest_forward = std::max(longest_forward, kind.stage.forward);
    longest_backward = std::max(longest_backward, kind.stage.backward);
    put_off = std::min(put_off, kind.stage.put_off(crossing));
  }
  const Stage& slow = pipe.slow();
  const double others = forwards + backwards - slow.tau();
  switch (plan.schedule) {
    case Schedule::kGpipe:
      return std::max(0.0, forwards + backwards + (m - 1) * (longest_forward + longest_backward) - m * slow.tau());
    case Schedule::kOneFOneB:
      return std::max(0.0, others) / plan.interleave;
    case Schedule::kZeroBubble:
      break;
  }
  return std::max(0.0, others - (plan.pp - 1.0) * put_off);
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
  const Stage& slow = pipe.slow();
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

  StageParameters params = stage_parameters(model, plan, 0);
  double embedding = 0;
  if (plan.pp > 1) {
    const double once = boundary(context);
    const double steady = 2 * m * static_cast<double>(plan.interleave);
    const double ends = 2 * (plan.pp - 1.0);  // fill and drain: nothing to hide beside
    hidden.pp = plan.overlap.pp * std::min(steady * once, m * slow.tau());
    result.boundary_s = ((steady + ends) * once - hidden.pp) / (steady + ends);
    time.bubble = bubble(plan, pipe, m, result.boundary_s);
    embedding = tied_embedding(context);
    time.pp_exposed = (steady + ends) * result.boundary_s + embedding;
    const StageParameters next = stage_parameters(model, plan, 1);
    if (next.dense + next.experts > params.dense + params.experts) params = next;
  }

  const base::Count replicas = plan.dp * plan.cp;
  const GradientSync dense = sync(context, params.dense, replicas, plan.tp, m);
  const GradientSync experts = sync(context, params.experts, replicas / plan.ep, plan.tp * plan.ep, m);
  const double gather = dense.gather + experts.gather;
  const double reduce = dense.reduce + experts.reduce;
  const double passes = plan.zero == 3 ? m : 1;
  const double reductions = plan.zero >= 2 ? m : 1;
  const double gather_window = passes * (slow.forward + (plan.zero == 3 ? slow.backward : 0));
  // What gathering hides beside is not there for reducing.
  const double gather_hidden = plan.overlap.dp * std::min(gather, gather_window);
  const double shared = plan.zero == 3 ? std::max(0.0, gather_hidden - passes * slow.forward) : 0;
  const double reduce_hidden = plan.overlap.dp * std::min(reduce, std::max(0.0, reductions * slow.backward - shared));
  hidden.dp = gather_hidden + reduce_hidden;
  time.dp_exposed = gather + reduce - hidden.dp;

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

  result.first = times_of(pipe.kinds[0].stage);
  result.last = plan.pp > 1 ? times_of(pipe.kinds[3].stage) : result.first;
  result.middle = plan.pp > 2 ? times_of(pipe.kinds[1].stage) : result.first;
  result.drain_s = time.dp_exposed + embedding + time.optimizer;
  return result;
}

double seconds_to_train(const Iteration& iteration, double tokens) {
  return tokens / iteration.tokens_per_s;
}

}  // namespace orrery::cluster
