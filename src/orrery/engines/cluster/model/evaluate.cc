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
#include "orrery/engines/cluster/model/evaluate.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/flops.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/outside.h"
#include "orrery/engines/cluster/model/peak.h"
#include "orrery/engines/cluster/pipeline/pipeline.h"

namespace orrery::cluster {
namespace {

// The iteration from the point of view of the stages of one kind.
struct View {
  double bubble = 0;
  double hidden_pp = 0, hidden_dp = 0;
  double seconds = 0;  // that depend on the kind
};

// What a stage's passes have beside them of communication with replicas, and what that gains.
class Beside {
 public:
  Beside(const Plan& plan, double units) : plan_(plan), possible_(1 - 1 / units) {}

  // Of `seconds` of communication, all but the first or last unit's can go beside a pass of `window` seconds. Units
  // differ, and wait for each other: the two together take the cube root of the sum of their cubes; and the pass loses
  // `contention` for each second that their bytes take the links.
  double gained(double seconds, double moved, double window) const {
    if (seconds <= 0 || window <= 0 || plan_.overlap.dp == 0) return 0;
    const double possible = seconds * possible_;
    const double shorter = std::min(possible, window), longer = std::max(possible, window);
    const double share = shorter / longer;
    const double beside = longer * (1 + share - std::cbrt(1 + share * share * share));
    return plan_.overlap.dp * std::max(0.0, beside - shorter * plan_.stack.contention * moved / seconds);
  }

 private:
  const Plan& plan_;
  double possible_;
};

// Seconds that overlap gains of the communication with replicas. ZeRO 3 gathers weights layer by layer for every pass
// and scatters gradients beside the gathers of every backward pass; ZeRO 2 scatters in every backward pass; the others
// beside the last one.
double gained_dp(const Plan& plan, const GradientSync& sync, double units, double m, double group, double forward,
                 double backward) {
  const Beside beside(plan, units);
  if (plan.zero == 3) {
    const double gather = sync.gather / 2, moved = sync.gather_moved / 2;  // of all forward, or all backward passes
    return beside.gained(gather, moved, m * forward) +
           beside.gained(gather + sync.reduce, moved + sync.reduce_moved, m * backward);
  }
  // A chunk's weights are needed, and its gradients complete, a round of microbatches after the chunk before.
  const double passes = plan.interleave > 1 ? std::min(m, group) : 1;
  return beside.gained(sync.gather, sync.gather_moved, passes * forward) +
         beside.gained(sync.reduce, sync.reduce_moved, (plan.zero == 2 ? m : passes) * backward);
}

View seen_by(const Kind& kind, const Plan& plan, const Waits& waits, const Outside& sent, double m, double units,
             double late) {
  const Stage& stage = kind.stage;
  View view;
  view.bubble = waits.of(kind);
  double forward = stage.forward, backward = stage.backward;
  double work = m * stage.tau();
  const bool dual = plan.schedule == Schedule::kDualPipe;
  if (defers_weights(plan.schedule)) {
    // Deferred weight gradients belong to no particular microbatch: each one is charged an equal part, a third of it in
    // the forward pass.
    const auto p = static_cast<double>(plan.pp);
    const double filled = folded(plan.schedule) ? (p - 1) / 2 : (dual ? p / 2 : p) - 1;
    const double turn = (work + view.bubble) / (m + filled);
    forward = turn / 3;
    backward = turn - forward;
    work = m * turn;
  }
  view.hidden_dp = gained_dp(plan, sent.gradients, units, m, waits.group(), forward, backward);
  const double boundaries = dual ? 1 : plan.overlap.pp;
  view.hidden_pp = boundaries * (1 - plan.stack.contention) *
                   std::min(sent.steady * sent.crossing, std::max(0.0, work - view.hidden_dp));
  view.seconds = m * stage.tau() * (1 + late) + view.bubble - view.hidden_pp - view.hidden_dp;
  return view;
}

// Activations go to the host's memory beside the forward pass and come back beside the backward pass, by copies that
// take no units. Of the optimiser's state gradients go down and weights come up at the end, and between the two the
// host does the step: it reads the gradient and reads and writes master and moments in its own memory, whose rate its
// accelerators share. Where a system does not state that rate, it is taken to be that of the link.
void add_offload(const Model& model, const System& system, const Plan& plan, double own, double m, const Stage& stage,
                 Breakdown& time) {
  if (plan.offload_activations == 0 && plan.offload_optimizer == 0) return;
  const machine::Accelerator& chip = system.accelerator;
  const double rate = chip.host_rate();
  const double memory_rate = chip.host_memory_bytes_per_s > 0 ? chip.host_memory_bytes_per_s : rate;
  double kept = 0;
  for (const LayerKind& kind : model.kinds)
    kept +=
        static_cast<double>(kind.layers) / static_cast<double>(plan.pp) * activation_bytes_per_layer(model, plan, kind);
  const double way = plan.offload_activations * kept / rate;
  if (stage.pair > 0) {
    time.backward += m * std::max(0.0, 2 * way - stage.pair);
  } else {
    time.forward += m * std::max(0.0, way - stage.forward);
    time.backward += m * std::max(0.0, way - stage.backward);
  }
  constexpr double kSent = 4 + 2;                  // bytes a parameter: gradient, weight
  constexpr double kByHost = 4 + 2 * (4 + 8) + 2;  // gradient read, master and moments read and written, weight written
  time.optimizer += plan.offload_optimizer * (kSent / rate + kByHost / memory_rate) * own;
}

Utilisation utilisation(double model_flops_per_s, double hardware_flops_per_s, double peak) {
  return {model_flops_per_s / peak, hardware_flops_per_s / peak, model_flops_per_s / 1e12};
}

StageTimes times_of(const Stage& stage) {
  return {stage.forward,        stage.backward,        stage.weight,       stage.apart(),
          stage.second.forward, stage.second.backward, stage.second.weight};
}

}  // namespace

Iteration evaluate(const Model& model, const System& system, const Plan& plan,
                   const machine::OperatorModel& operators) {
  const double m = whole_microbatches(plan);
  ORRERY_CHECK(m >= 1, "the plan is not possible(); it has no microbatch");
  const LayerContext context = layer_context(model, system, plan, operators);
  const Pipeline pipe = pipeline(context);

  const Occupied bytes = occupied(model, plan);
  const StageParameters& params = bytes.most;
  const Outside sent = outside(context, params);

  // The stage that ends last determines the time.
  const double units = sync_units(model, plan);
  // The replicas wait for the slowest of them where they exchange gradients: that part of their work.
  double late = 0;
  if (plan.stack.stragglers > 0) {
    const double nodes = std::max(1.0, static_cast<double>(plan.gpus) / static_cast<double>(system.node_size));
    late = plan.stack.stragglers * std::log2(nodes);
  }
  const Waits waits(model, plan, pipe);
  const Kind* slowest = nullptr;
  View view;
  for (const Kind& kind : pipe) {
    if (kind.count == 0) continue;
    const View candidate = seen_by(kind, plan, waits, sent, m, units, late);
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
  double forward_work = m * (slow.forward - forward.exposed());
  double backward_work = m * (slow.backward - backward.exposed());
  if (slow.pair > 0) {
    // Side by side: of either the part that its operators have.
    const double both = m * (slow.pair - forward.exposed() - backward.exposed());
    const double computed = forward.compute + backward.compute;
    forward_work = computed > 0 ? both * forward.compute / computed : 0;
    backward_work = both - forward_work;
  }
  time.forward = forward_work;
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
  time.dp_exposed += late * m * slow.tau() + sent.gradients.alone;

  const double own = stepped_parameters(plan, params);
  time.optimizer = operators.memory_bound_seconds(system.calibration.optimizer_bytes_per_param * own) +
                   system.calibration.iteration_seconds;
  add_offload(model, system, plan, own, m, slow, time);

  result.iteration_s = time.sum();
  result.memory = bytes.fullest;
  result.capacity_bytes = system.accelerator.memory_bytes;
  result.memory.reserve = std::clamp(result.capacity_bytes - result.memory.in_use(), 0.0, result.memory.reserve);
  result.excess_bytes = std::max(0.0, result.memory.total() - result.capacity_bytes);
  result.fits = result.excess_bytes == 0;
  result.memory_error = plan.stack.memory_error;
  const double need = result.memory.in_use();
  result.uncertain = need * (1 - result.memory_error) <= result.capacity_bytes &&
                     need * (1 + result.memory_error) > result.capacity_bytes;

  const double gpus = static_cast<double>(plan.gpus);
  const double batch = static_cast<double>(plan.global_batch);
  const double rate = batch / (result.iteration_s * gpus);  // sequences/s of one accelerator
  const double peak = peak_of_run(system.accelerator, plan.precision);
  const bool core_kept = plan.recompute == Recompute::kSelective && !plan.recomputed.core;
  const Recompute again = core_kept ? Recompute::kNone : plan.recompute;
  const ForwardFlops flops(model);
  DoneFlops done = flops.done(plan.recompute, plan.recomputed, plan.lora_rank, plan.lora_networks);
  if (const double share = share_again(plan, model.layers); share < 1) {
    const double once = flops.done(Recompute::kNone, {}, plan.lora_rank, plan.lora_networks).hardware;
    done.hardware = once + share * (done.hardware - once);
  }
  result.done = utilisation(done.model * rate, done.hardware * rate, peak);
  result.published = utilisation(flops.model() * rate, flops.hardware(again) * rate, peak);
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
