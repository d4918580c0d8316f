// One training iteration: m microbatches through the pipeline, then gradients, then the optimiser's step.
//
//   iteration = pipeline + boundaries + gradients + tied embedding + step + what an iteration costs once, less overlap
//
// from the layers' operators (layer.h), the stages' turns and waits (pipeline.h) and what leaves a stage (outside.h).
// Each stage has its own sum; the stage that ends last determines the time, and its parts are the breakdown.
// Communication overlaps with work: data-parallel communication with the last microbatch (all of them under ZeRO 2 and
// 3), boundaries with what is left.
//
// Form and constants: docs/model/cluster.md, which also has their accuracy. Cost: about a microsecond.
#include "orrery/cluster/evaluate.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/cluster/flops.h"
#include "orrery/cluster/layer.h"
#include "orrery/cluster/memory.h"
#include "orrery/cluster/outside.h"
#include "orrery/cluster/pipeline.h"

namespace orrery::cluster {
namespace {

// The iteration from the point of view of the stages of one kind.
struct View {
  double bubble = 0;
  double hidden_pp = 0, hidden_dp = 0;
  double seconds = 0;  // that depend on the kind
};

View seen_by(const Kind& kind, const Plan& plan, const Pipeline& pipe, const Outside& sent, double m) {
  const Stage& stage = kind.stage;
  View view;
  view.bubble = waiting(plan, pipe, kind);
  double forwards = (plan.zero == 3 ? m : 1) * stage.forward;
  double backwards = (plan.zero >= 2 ? m : 1) * stage.backward;
  double work = m * stage.tau();
  if (plan.schedule == Schedule::kZeroBubble) {
    // Deferred weight gradients belong to no particular microbatch: each one is charged an equal part, a third of it in
    // the forward pass.
    const double turn = (work + view.bubble) / (m + static_cast<double>(plan.pp) - 1);
    forwards = turn / 3;
    backwards = turn - forwards;
    work = m * turn;
  }
  const double gather = std::min(sent.gradients.gather, forwards + (plan.zero == 3 ? backwards : 0));
  const double gathered = plan.overlap.dp * gather;
  const double left = backwards - std::max(0.0, plan.zero == 3 ? gathered - forwards : 0.0);
  view.hidden_dp = gathered + plan.overlap.dp * std::min(sent.gradients.reduce, std::max(0.0, left));
  view.hidden_pp = plan.overlap.pp * std::min(sent.steady * sent.crossing, std::max(0.0, work - view.hidden_dp));
  view.seconds = m * stage.tau() + view.bubble - view.hidden_pp - view.hidden_dp;
  return view;
}

// Attention and logits stay in 16 bits where products are in 8.
double peak_of_run(const machine::Accelerator& chip, machine::Precision precision) {
  const double peak = chip.peak(precision);
  return precision == machine::Precision::kFp8 ? std::max(peak, chip.peak(machine::Precision::kBf16)) : peak;
}

Utilisation utilisation(double model_flops_per_s, double hardware_flops_per_s, double peak) {
  return {model_flops_per_s / peak, hardware_flops_per_s / peak, model_flops_per_s / 1e12};
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

  StageParameters params = stage_parameters(model, plan, 0);
  if (plan.pp > 1) {
    for (const base::Count stage : {base::Count{1}, plan.pp - 1}) {  // those between have no more than the second
      const StageParameters other = stage_parameters(model, plan, stage);
      if (other.dense + other.experts > params.dense + params.experts) params = other;
    }
  }
  const Outside sent = outside(context, params);

  // The stage that ends last determines the time.
  const Kind* slowest = nullptr;
  View view;
  for (const Kind& kind : pipe) {
    if (kind.count == 0) continue;
    const View candidate = seen_by(kind, plan, pipe, sent, m);
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
  const double crossings = sent.steady + sent.ends;
  if (crossings > 0) result.boundary_s = (crossings * sent.crossing - hidden.pp) / crossings;
  time.pp_exposed = crossings * result.boundary_s + sent.embedding;
  time.dp_exposed = std::max(0.0, sent.gradients.gather + sent.gradients.reduce - hidden.dp);

  const base::Count replicas = plan.dp * plan.cp;
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
  const double batch = static_cast<double>(plan.global_batch);
  const double rate = batch / (result.iteration_s * gpus);  // sequences/s of one accelerator
  const double peak = peak_of_run(system.accelerator, plan.precision);
  const DoneFlops done = done_flops_per_sequence(model, plan.recompute);
  result.done = utilisation(done.model * rate, done.hardware * rate, peak);
  result.published = utilisation(model_flops_per_sequence(model) * rate,
                                 hardware_flops_per_sequence(model, plan.recompute) * rate, peak);
  result.tokens_per_s = batch * model.seq / result.iteration_s;

  result.first = times_of(pipe[0].stage);
  result.last = plan.pp > 1 ? times_of(pipe[3].stage) : result.first;
  result.middle = plan.pp > 2 ? times_of(pipe[1].stage) : result.first;
  result.drain_s = time.dp_exposed + sent.embedding + time.optimizer;
  return result;
}

double seconds_to_train(const Iteration& iteration, double tokens) {
  return tokens / iteration.tokens_per_s;
}

}  // namespace orrery::cluster
