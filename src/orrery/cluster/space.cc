// The count: whether degrees go together does not depend on what is recomputed and sharded, and which turns are allowed
// depends on stages and microbatches alone. So the sum over tp, cp, ep and pp is of products, and the turns of all
// microbatches of a (pp, dp) are counted once. Cost: some 1e6 combinations of degrees for the largest models.
#include "orrery/cluster/space.h"

#include <algorithm>
#include <numeric>

namespace orrery::cluster {
namespace {

using base::Count;

constexpr Count kMostSplit = 1024;
constexpr Count kMostStages = 4096;

Values divisors(Count number, Count most) {
  Values found, large;
  for (Count d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    if (d <= most) found.push_back(d);
    if (d != number / d && number / d <= most) large.push_back(number / d);
  }
  found.insert(found.end(), large.rbegin(), large.rend());
  return found;
}

Values powers_of_two(Count number, Count most) {
  Values found;
  for (Count d = 1; d <= most && d <= number && number % d == 0; d *= 2) found.push_back(d);
  return found;
}

Values range(Count first, Count last) {
  Values found(static_cast<std::size_t>(std::max<Count>(0, last - first + 1)));
  std::iota(found.begin(), found.end(), first);
  return found;
}

// What every tensor degree divides.
Count divided_by_tp(const Model& model) {
  Count common = 0;
  for (const LayerKind& kind : model.kinds) {
    for (const Core& core : kind.cores) common = std::gcd(common, core.heads);
    if (kind.scan.heads > 0) common = std::gcd(common, kind.scan.heads);
  }
  return std::max<Count>(1, common);
}

Values sorted(Values values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Values given_or(const Values& given, Values open) {
  return given.empty() ? std::move(open) : sorted(given);
}

bool divides(Count part, Count whole) {
  return part > 0 && whole % part == 0;
}

}  // namespace

Domain::Domain(const Model& model, const System& system, Space space)
    : model_(&model), system_(&system), space_(std::move(space)) {
  const Count most = space_.most_gpus;
  space_.of(Knob::kGlobalBatch) = sorted(space_.of(Knob::kGlobalBatch));
  tp_ = given_or(space_.of(Knob::kTp), divisors(divided_by_tp(model), std::min(most, kMostSplit)));
  pp_ = given_or(space_.of(Knob::kPp), range(1, std::min({std::max<Count>(1, model.layers), most, kMostStages})));
  cp_ = given_or(space_.of(Knob::kCp), powers_of_two(std::max<Count>(1, model.seq), std::min(most, kMostSplit)));
  ep_ = given_or(space_.of(Knob::kEp), divisors(std::max<Count>(1, model.experts()), std::min(most, kMostSplit)));
  recompute_ = given_or(space_.of(Knob::kRecompute), {0, 1, 2});
  for (const Count batch : batches()) {
    dp_.push_back(given_or(space_.of(Knob::kDp), divisors(batch, most)));
    micro_batch_.push_back(given_or(space_.of(Knob::kMicroBatch), divisors(batch, batch)));
  }
  sequence_parallel_ = {given_or(space_.of(Knob::kSequenceParallel), {0}),
                        given_or(space_.of(Knob::kSequenceParallel), {0, 1})};
  zero_ = {given_or(space_.of(Knob::kZero), {0}), given_or(space_.of(Knob::kZero), {0, 1, 2, 3})};
  for (const Count pp : pp_) turns_.push_back(turns_of(pp));
}

std::vector<Turns> Domain::turns_of(Count pp) const {
  const Values schedules = given_or(space_.of(Knob::kSchedule), pp > 1 ? Values{0, 1, 2} : Values{0});
  std::vector<Turns> turns;
  for (const Count each : schedules) {
    Plan plan = space_.base;
    set(plan, Knob::kSchedule, each);
    Values chunks = {1};
    if (!space_.open(Knob::kInterleave))
      chunks = sorted(space_.of(Knob::kInterleave));
    else if (pp > 1 && plan.schedule == Schedule::kOneFOneB)
      chunks = range(1, base::ceil_divide(model_->layers, pp));
    for (const Count interleave : chunks) {
      // Whether the layers make so many chunks, whatever the rest of the plan: asked of the smallest plan.
      Plan probe = plan;
      probe.tp = probe.cp = probe.ep = probe.dp = probe.micro_batch = 1;
      probe.pp = probe.gpus = probe.global_batch = pp;
      probe.interleave = interleave;
      probe.sequence_parallel = false;
      if (chunks.size() == 1 || possible(*model_, *system_, probe)) turns.push_back({plan.schedule, interleave});
    }
  }
  return turns;
}

Plan Domain::first() const {
  Plan plan = space_.base;
  plan.global_batch = batches().front();
  plan.tp = tp_.front(), plan.pp = pp_.front(), plan.cp = cp_.front(), plan.ep = ep_.front();
  plan.dp = dp_.front().front();
  plan.micro_batch = micro_batch_.front().front();
  plan.recompute = static_cast<Recompute>(recompute_.front());
  plan.sequence_parallel = sequence_parallel(plan.tp).front() != 0;
  plan.zero = static_cast<int>(zero(plan.dp * plan.cp).front());
  if (!turns_.front().empty()) {
    plan.schedule = turns_.front().front().schedule;
    plan.interleave = turns_.front().front().interleave;
  }
  plan.gpus = plan.tp * plan.pp * plan.cp * plan.dp;
  return plan;
}

void Domain::each(const std::function<bool(const Plan&)>& visit) const {
  for (const Count tp : tp_)
    if (!each_of(tp, visit)) return;
}

bool Domain::each_of(Count tp, const std::function<bool(const Plan&)>& visit) const {
  Plan plan = space_.base;
  plan.tp = tp;
  for (std::size_t b = 0; b < batches().size(); ++b)
    for (const Count cp : cp_)
      for (const Count ep : ep_)
        for (std::size_t p = 0; p < pp_.size(); ++p)
          for (const Count dp : dp_[b])
            for (const Count micro : micro_batch_[b]) {
              const Count replica = tp * cp * pp_[p];
              if (replica > space_.most_gpus || dp > space_.most_gpus / replica) continue;
              if (!divides(dp * micro, batches()[b])) continue;
              plan.global_batch = batches()[b];
              plan.cp = cp, plan.ep = ep, plan.pp = pp_[p], plan.dp = dp, plan.micro_batch = micro;
              plan.gpus = replica * dp;
              for (const Turns& turns : turns_[p])
                for (const Count parallel : sequence_parallel(tp)) {
                  plan.schedule = turns.schedule, plan.interleave = turns.interleave;
                  plan.sequence_parallel = parallel != 0;
                  if (!possible(*model_, *system_, plan)) continue;
                  for (const Count recompute : recompute_)
                    for (const Count zero : zero_[dp * cp > 1 ? 1 : 0]) {
                      plan.recompute = static_cast<Recompute>(recompute);
                      plan.zero = static_cast<int>(zero);
                      if (!visit(plan)) return false;
                    }
                }
            }
  return true;
}

double Domain::count() const {
  double total = 0;
  Plan plan = space_.base;
  for (std::size_t b = 0; b < batches().size(); ++b) {
    const Count batch = batches()[b];
    plan.global_batch = batch;
    // Turns and microbatches of stages and replicas.
    std::vector<std::vector<double>> ways(pp_.size(), std::vector<double>(dp_[b].size()));
    for (std::size_t p = 0; p < pp_.size(); ++p)
      for (std::size_t d = 0; d < dp_[b].size(); ++d)
        for (const Count micro : micro_batch_[b]) {
          plan.tp = plan.cp = plan.ep = 1;
          plan.pp = pp_[p], plan.dp = dp_[b][d], plan.micro_batch = micro;
          plan.gpus = plan.pp * plan.dp;
          plan.sequence_parallel = false;
          if (plan.gpus > space_.most_gpus || !divides(plan.dp * micro, batch)) continue;
          for (const Turns& turns : turns_[p]) {
            plan.schedule = turns.schedule, plan.interleave = turns.interleave;
            if (possible(*model_, *system_, plan)) ways[p][d] += 1;
          }
        }
    for (const Count tp : tp_)
      for (const Count cp : cp_)
        for (const Count parallel : sequence_parallel(tp))
          for (const Count ep : ep_)
            for (std::size_t d = 0; d < dp_[b].size(); ++d) {
              const Count dp = dp_[b][d];
              if (tp * cp > space_.most_gpus / dp) break;
              // Whether these go together: asked with one stage and one microbatch.
              plan.tp = tp, plan.cp = cp, plan.ep = ep, plan.dp = dp, plan.pp = 1;
              plan.sequence_parallel = parallel != 0;
              plan.global_batch = dp, plan.micro_batch = 1;
              plan.schedule = Schedule::kOneFOneB, plan.interleave = 1;
              plan.gpus = tp * cp * dp;
              if (!possible(*model_, *system_, plan)) continue;
              double pairs = 0;
              for (std::size_t p = 0; p < pp_.size(); ++p)
                if (pp_[p] <= space_.most_gpus / plan.gpus) pairs += ways[p][d];
              total += pairs * static_cast<double>(recompute_.size() * zero_[dp * cp > 1 ? 1 : 0].size());
            }
  }
  return total;
}

}  // namespace orrery::cluster
