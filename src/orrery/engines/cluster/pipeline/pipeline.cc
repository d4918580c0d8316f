// Stage i spends tau_i on a microbatch, forward and backward. Device and host work in parallel; the longer one
// dominates, and where they are close each sometimes waits for the other:
//
//   tau = (device^5 + host^5)^(1/5)      for the forward and for the backward pass; of DualPipe also for both together
//
// A pipeline of m microbatches, p stages and v chunks in each takes, as far as stage i determines it,
//
//   GPipe, 1F1B        m tau_i + (sum of the others' tau) / v      (Narayanan 2021, sec. 2.2)
//   zero-bubble (H1)   the longest way through the events that meets stage i; where all stages are equal
//                      m (F + B + W) + (p - 1) (F + B - min(F, B, W)), of which arXiv 2401.10241 has W <= F, B
//   ZB-V, V-Half, V-Min   event by event (v_schedules.h): stages have two chunks each, and the first has both ends of
//                      the model; a layer more or less is half of either chunk
//   DualPipe           m F&B + (p/2 - 1) (F&B + B - 3 W) + (p + 1) (F + B - F&B)
//                      = (m - p/2 - 2) F&B + (p + 1) F + 3 B + 3 (p/2 - 1) I
//
// In DualPipe (arXiv 2412.19437, whose table of bubbles has the second term, B with W in it) microbatches enter at both
// ends, so an accelerator has stage i and stage p - 1 - i, and its time is their mean's. F and B are passes that go
// alone, F&B a forward beside a backward pass of other microbatches: device and host have the work of both, and the
// exchange with experts that each shows when it goes alone goes beside the other. p + 1 pairs come apart while the
// pipeline fills and drains (dualpipe.h). Written with I = B - W, m >= 2 p of its rule makes every factor positive, so
// that no part that gets faster makes the whole slower.
//
// An interleaved pipeline sends g microbatches through a chunk before the next chunk: with g < p its stages wait
// (v - 1) (p - g) / v of a turn more.
//
// Equal stages end exactly then (schedule_test.cc simulates them); of unequal ones it is a good estimate. The time
// never grows when a part gets faster. Cost: the passes of each kind of layer, at most four kinds of stages.
#include "orrery/engines/cluster/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "orrery/engines/cluster/pipeline/stages.h"
#include "orrery/engines/cluster/pipeline/v_schedules.h"

namespace orrery::cluster {
namespace {

// (device^5 + host^5)^(1/5).
double joined(double device, double host) {
  const double longer = std::max(device, host);
  if (longer == 0) return 0;
  const double ratio = std::min(device, host) / longer;
  const double squared = ratio * ratio;
  const double sum = 1 + squared * squared * ratio;
  const double x = sum - 1;
  if (x > 1.0 / 1024) return longer * std::pow(sum, 0.2);
  // The root's series, to 1e-20: what pow() says, but for the rounding of one result in some thousand.
  return longer * (1 + x * (1.0 / 5 - x * (2.0 / 25 - x * (6.0 / 125 - x * (21.0 / 625 - x * (399.0 / 15625))))));
}

// From its passes. `split`: the schedule defers weight gradients. The rest of the backward pass then takes the time of
// its other work alone.
void finish(bool split, bool dual, Stage& stage) {
  const Pass& forward = stage.passes.forward;
  const Pass& backward = stage.passes.backward;
  // What DualPipe's pairs hide of the exchange with experts shows where a pass goes alone.
  const double before = forward.device() + (dual ? forward.ep_hidden : 0);
  const double behind = backward.device() + (dual ? backward.ep_hidden : 0);
  stage.forward = joined(before, forward.host);
  stage.backward = joined(behind, backward.host);
  if (dual) stage.pair = joined(forward.device() + backward.device(), forward.host + backward.host);
  if (split) stage.weight = stage.backward - joined(behind - backward.weight, backward.host - backward.weight_host);
}

void add(const PassPair& more, double times, PassPair& sum) {
  sum.forward.add(more.forward, times);
  sum.backward.add(more.backward, times);
}

// Of a stage folded to a V, which has its layers' passes: either chunk has half of these, the first `down` and the
// second `up` besides.
void finish_folded(const PassPair& down, const PassPair& up, Stage& stage) {
  Stage first, second;
  add(stage.passes, 0.5, first.passes);
  add(stage.passes, 0.5, second.passes);
  add(down, 1, first.passes);
  add(up, 1, second.passes);
  finish(true, false, first);
  finish(true, false, second);
  add(down, 1, stage.passes);
  add(up, 1, stage.passes);
  stage.forward = first.forward + second.forward;
  stage.backward = first.backward + second.backward;
  stage.weight = first.weight + second.weight;
  stage.second = {second.forward, second.backward, second.weight};
}

// Seconds of all microbatches on stages folded to a V. Of a last one that is smaller the slowest stage saves its part.
double folded_seconds(const Plan& plan, const Pipeline& pipe) {
  std::vector<VWork> stages(static_cast<std::size_t>(plan.pp));
  double slowest = 0;
  for (const Kind& kind : pipe) {
    if (kind.count == 0) continue;
    const Stage& s = kind.stage;
    slowest = std::max(slowest, s.tau());
    const VWork work = {
        {s.forward - s.second.forward, s.input() - (s.second.backward - s.second.weight), s.weight - s.second.weight},
        {s.second.forward, s.second.backward - s.second.weight, s.second.weight}};
    std::fill(stages.begin() + static_cast<std::ptrdiff_t>(kind.front),
              stages.begin() + static_cast<std::ptrdiff_t>(kind.back) + 1, work);
  }
  const base::Count m = microbatches(plan);
  return v_seconds(stages, m, plan.schedule) - (static_cast<double>(m) - whole_microbatches(plan)) * slowest;
}

// From the first forward to the end of a zero-bubble pipeline, as far as stages of `kind` determine it: the longest of
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

// DualPipe's: stages i and p - 1 - i are one accelerator's. Of the pairs between the ends the longest are told apart
// from the rest, whose mean counts.
void fold(base::Count of_longer, base::Count p, Pipeline& result) {
  const std::array<PassPair, 4> sums = {result[0].stage.passes, result[1].stage.passes, result[2].stage.passes,
                                        result[3].stage.passes};
  result = {};
  const auto mean = [](const PassPair& a, double of_a, const PassPair& b, double of_b, Kind& kind) {
    add(a, of_a, kind.stage.passes);
    add(b, of_b, kind.stage.passes);
    finish(true, true, kind.stage);
  };
  const auto stand = [](Kind& kind, double count, double front, double back) {
    kind.count = count, kind.front = front, kind.back = back;
  };
  const auto end = static_cast<double>(p - 1);
  mean(sums[0], 0.5, sums[3], 0.5, result[0]);
  stand(result[0], 2, 0, end);
  result[3].stage = result[0].stage;
  stand(result[3], 0, end, end);
  if (p == 2) return;
  const auto between = static_cast<double>(p - 2);
  const auto longer = static_cast<double>(of_longer);
  const double both = std::max(0.0, 2 * longer - between);  // stages of pairs of two long ones
  const double mixed = 2 * std::min(longer, between - longer);
  const double most = both > 0 ? both : mixed > 0 ? mixed : between;
  const double share = both > 0 ? 1 : mixed > 0 ? 0.5 : 0;
  mean(sums[1], share, sums[2], 1 - share, result[1]);
  stand(result[1], most, 1, most);
  const double rest = between - most;
  if (rest <= 0) return;
  const double left = (longer - share * most) / rest;
  mean(sums[1], left, sums[2], 1 - left, result[2]);
  stand(result[2], rest, most + 1, between);
}

}  // namespace

Pipeline pipeline(const LayerContext& context) {
  const Model& model = context.model;
  const base::Count p = context.plan.pp;
  const bool dual = context.plan.schedule == Schedule::kDualPipe;
  const bool split = defers_weights(context.plan.schedule);
  const bool v = folded(context.plan.schedule) && p > 1;
  // The first stage, one of the longer and one of the shorter ones between, the last one.
  const std::array<base::Count, 4> stages = {0, 1, p - 2, p - 1};
  const StageLayers layers(model.layers, p);
  const base::Count longer = layers.equal() ? std::max<base::Count>(0, p - 2) : layers.longer_between();
  const std::array<bool, 4> stands = {true, p > 2, p > 2 && (dual || longer < p - 2), p > 1};
  Pipeline result;
  const auto sum = [&](std::size_t i) -> PassPair& { return result[i].stage.passes; };
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const PassPair each = layer_passes(context, model.kinds[k]);
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (stands[i]) add(each, layers.of_kind(model, k, stages[i]), sum(i));
  }
  if (model.ahead > 0) {
    const PassPair further = ahead_passes(context);
    const double own = static_cast<double>(model.ahead) / static_cast<double>(p);
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (stands[i]) add(further, own, sum(i));
  }
  const PassPair embedding = embedding_passes(context), logits = logits_passes(context);
  if (!v) {
    add(embedding, 1, sum(0));
    add(logits, 1, sum(p == 1 ? 0 : 3));
  }

  if (dual && p > 1) {
    fold(longer, p, result);
    return result;
  }
  if (v)
    finish_folded(embedding, logits, result[0].stage);
  else
    finish(split, dual, result[0].stage);
  const auto end_of = [&](Kind& kind) {
    if (v)
      finish_folded({}, {}, kind.stage);
    else
      finish(split, false, kind.stage);
  };
  result[0].count = 1;
  if (p == 1) return result;
  const auto between = [&](Kind& kind, double count, double front) {
    kind.count = count, kind.front = front, kind.back = front + count - 1;
  };
  if (p > 2) {
    // The longer stages between come first.
    const auto border = static_cast<double>(longer);
    end_of(result[1]);
    between(result[1], border, 1);
    if (stands[2]) {
      end_of(result[2]);
      between(result[2], static_cast<double>(p - 2) - border, border + 1);
    }
  }
  end_of(result[3]);
  between(result[3], 1, static_cast<double>(p - 1));
  return result;
}

namespace {

// Of a stage's layers, the part in its longest chunk: the pipeline fills and drains chunk by chunk.
double longest_chunk(const Model& model, const Plan& plan) {
  const base::Count layers = base::ceil_divide(model.layers, plan.pp);
  if (layers % plan.interleave == 0) return 1 / static_cast<double>(plan.interleave);
  return static_cast<double>(base::ceil_divide(layers, plan.interleave)) / static_cast<double>(layers);
}

}  // namespace

Waits::Waits(const Model& model, const Plan& plan, const Pipeline& pipe)
    : plan_(plan), pipe_(pipe), m_(whole_microbatches(plan)), p_(static_cast<double>(plan.pp)) {
  if (plan.pp == 1 || plan.schedule == Schedule::kZeroBubble || plan.schedule == Schedule::kDualPipe) return;
  if (folded(plan.schedule)) {
    all_ = folded_seconds(plan, pipe);
    return;
  }
  if (plan.interleave > 1) {
    group_ = static_cast<double>(microbatch_group(plan));
    refill_ = std::max(0.0, p_ - group_) * (1 - 1 / static_cast<double>(plan.interleave));
  }
  chunk_ = longest_chunk(model, plan);
  for (const Kind& each : pipe) all_ += each.count * each.stage.tau();
}

double Waits::of(const Kind& kind) const {
  if (plan_.pp == 1) return 0;
  const double own = kind.stage.tau();
  if (folded(plan_.schedule)) return std::max(0.0, all_ - m_ * own);
  if (plan_.schedule == Schedule::kZeroBubble)
    return std::max(0.0, zero_bubble_seconds(pipe_, kind, m_, p_) - m_ * own);
  if (plan_.schedule == Schedule::kDualPipe) {
    const Stage& stage = kind.stage;
    return std::max(0.0, (p_ / 2 - 1) * (own + stage.backward - 3 * stage.weight)) + (p_ + 1) * stage.apart();
  }
  return std::max(0.0, all_ - own) * chunk_ + refill_ * own;
}

double waiting(const Model& model, const Plan& plan, const Pipeline& pipe, const Kind& kind) {
  return Waits(model, plan, pipe).of(kind);
}

}  // namespace orrery::cluster
