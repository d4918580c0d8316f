// The count: whether degrees go together does not depend on what is recomputed and sharded, and which turns are allowed
// depends on stages and microbatches alone; all else asks of the stages only whether there are several. So the sum over
// tp, cp, ep and pp is of products, and the turns of all microbatches of a (pp, dp) are counted once. Cost: some 1e6
// combinations of degrees for the largest models.
#include "orrery/engines/cluster/search/space.h"

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

// Without what needs others beside it.
void plain(Plan& plan) {
  plan.zero = 0;
  plan.shard = plan.expert_tp = 0;
  plan.recompute_layers = 0;
  plan.offload_activations = plan.offload_optimizer = 0;
}

bool divides(Count part, Count whole) {
  return part > 0 && whole % part == 0;
}

Features these(std::initializer_list<const char*> names) {
  Features all = 0;
  for (const char* name : names) all |= feature(name);
  return all;
}

Values without(Values values, Count value, bool left_out) {
  if (left_out) values.erase(std::remove(values.begin(), values.end(), value), values.end());
  return values;
}

OddTurns odd_among(const std::vector<Turns>& turns) {
  OddTurns odd;
  for (const Turns& each : turns) {
    odd.dual = odd.dual || each.schedule == Schedule::kDualPipe;
    odd.folded = odd.folded || folded(each.schedule);
    if (each.schedule == Schedule::kVMin || (each.schedule == Schedule::kVHalf && odd.lightest != Schedule::kVMin))
      odd.lightest = each.schedule;
  }
  return odd;
}

}  // namespace

Features given_features(const Space& space) {
  Features given = 0;
  const std::vector<Feature>& table = features();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::vector<Variable>& variables = table[i].variables;
    if (std::none_of(variables.begin(), variables.end(), [&](Variable variable) { return space.open(variable); }))
      given |= Features{1} << i;
  }
  return given;
}

Domain::Domain(const Model& model, const System& system, Space space)
    : model_(&model),
      system_(&system),
      space_(std::move(space)),
      lacking_(space_.base.stack.lacks & ~space_.waived),
      turn_features_(
          these({"1f1b", "interleaved", "interleaved_pair", "gpipe", "zero_bubble", "dual_pipe", "zb_v", "v_half",
                 "v_min", "overlapped_zero_bubble", "uneven_stages", "uneven_chunks", "uneven_microbatches"})),
      tail_features_(these({"zero_1", "zero_2", "zero_3", "piped_gradients", "hybrid_sharding", "offloaded_activations",
                            "offloaded_optimizer", "part_of_optimizer", "unsharded_offload"})),
      hybrid_sharding_(feature("hybrid_sharding")) {
  // Values that the software excludes by themselves are left out here, what else it cannot do plan by plan.
  const auto lacks = [&](const char* name) { return (lacking_ & feature(name)) != 0; };
  const Count most = space_.most_gpus;
  space_.of(Variable::kGlobalBatch) = sorted(space_.of(Variable::kGlobalBatch));
  tp_ = given_or(space_.of(Variable::kTp),
                 divisors(divided_by_tp(model), lacks("tensor_parallelism") ? 1 : std::min(most, kMostSplit)));
  pp_ = given_or(space_.of(Variable::kPp), range(1, std::min({std::max<Count>(1, model.layers), most, kMostStages})));
  cp_ = given_or(
      space_.of(Variable::kCp),
      powers_of_two(std::max<Count>(1, model.seq), lacks("context_parallelism") ? 1 : std::min(most, kMostSplit)));
  ep_ = given_or(space_.of(Variable::kEp), divisors(std::max<Count>(1, model.experts()),
                                                    lacks("expert_parallelism") ? 1 : std::min(most, kMostSplit)));
  recompute_ = given_or(space_.of(Variable::kRecompute), without({0, 1, 2}, 1, lacks("selective_recomputation")));
  // Layers to be computed again leave no plan that computes none again.
  if (space_.base.recompute_layers > 0 && recompute_.size() > 1) recompute_ = without(recompute_, 0, true);
  for (const Count batch : batches()) {
    dp_.push_back(given_or(space_.of(Variable::kDp), divisors(batch, most)));
    micro_batch_.push_back(given_or(space_.of(Variable::kMicroBatch), divisors(batch, batch)));
  }
  const bool reaches_host = system.accelerator.host_bytes_per_s > 0;
  const Values shares = reaches_host ? Values{0, kWholeShare / 2, kWholeShare} : Values{0};
  offload_activations_ =
      given_or(space_.of(Variable::kOffloadActivations), lacks("offloaded_activations") ? Values{0} : shares);
  offload_optimizer_ =
      given_or(space_.of(Variable::kOffloadOptimizer),
               lacks("offloaded_optimizer") ? Values{0} : without(shares, kWholeShare / 2, lacks("part_of_optimizer")));
  sequence_parallel_ = {
      given_or(space_.of(Variable::kSequenceParallel), {0}),
      given_or(space_.of(Variable::kSequenceParallel), without({0, 1}, 1, lacks("sequence_parallelism")))};
  zero_ = {
      given_or(space_.of(Variable::kZero), {0}),
      given_or(space_.of(Variable::kZero),
               without(without(without({0, 1, 2, 3}, 1, lacks("zero_1")), 2, lacks("zero_2")), 3, lacks("zero_3")))};
  orders_ = given_or(space_.of(Variable::kOrder),
                     lacks("any_order") ? without({0, 1}, 1, lacks("stages_inside_replicas"))
                                        : without({0, 1, 2, 3, 4, 5}, 1, lacks("stages_inside_replicas")));
  for (const Count pp : pp_) {
    turns_.push_back(turns_of(pp));
    odd_turns_.push_back(odd_among(turns_.back()));
  }
}

Values Domain::expert_tp(Count tp) const {
  const bool matters = tp > 1 && model_->mixes();
  return given_or(space_.of(Variable::kExpertTp), matters ? Values{1, tp} : Values{0});
}

Orders Domain::orders(Count cp, Count dp, Count pp) const {
  Orders all;
  if (!space_.open(Variable::kOrder)) {
    for (const Count each : orders_) all.all[static_cast<std::size_t>(all.count++)] = static_cast<Order>(each);
    return all;
  }
  for (const Order each : different_orders(cp, dp, pp))
    if (std::find(orders_.begin(), orders_.end(), static_cast<Count>(each)) != orders_.end())
      all.all[static_cast<std::size_t>(all.count++)] = each;
  return all;
}

void Domain::Tail::set_on(Plan& plan) const {
  plan.zero = zero;
  plan.shard = shard;
  set(plan, Variable::kOffloadActivations, offload_activations);
  set(plan, Variable::kOffloadOptimizer, offload_optimizer);
}

std::vector<Domain::Tail> Domain::tails(const Plan& plan) const {
  const Count in_node = plan.tp < system_->node_size ? system_->node_size / plan.tp : 1;
  const Count all_replicas = replicas(plan);
  std::vector<Tail> all;
  for (const Count zero : zero_[all_replicas > 1 ? 1 : 0]) {
    const bool hybrid = zero > 0 && in_node > 1 && in_node < all_replicas && plan.dp * plan.cp % in_node == 0;
    const bool choice = hybrid && (lacking_ & hybrid_sharding_) == 0;
    for (const Count shard : given_or(space_.of(Variable::kShard), choice ? Values{0, in_node} : Values{0}))
      for (const Count activations : offload_activations_)
        for (const Count optimizer : offload_optimizer_)
          all.push_back({static_cast<int>(zero), shard, activations, optimizer});
  }
  return all;
}

bool Domain::shares(Count batch, Count dp, Count micro_batch) const {
  return space_.open(Variable::kMicroBatch) ? divides(dp * micro_batch, batch) : dp <= batch / micro_batch;
}

void Domain::offload_all(Plan& plan) const {
  set(plan, Variable::kOffloadActivations, offload_activations_.back());
  set(plan, Variable::kOffloadOptimizer, offload_optimizer_.back());
}

std::vector<Turns> Domain::turns_of(Count pp) const {
  // DualPipe folds its stages in pairs.
  const Values all = pp > 1 ? without({0, 1, 2, 3, 4, 5, 6}, 3, pp % 2 != 0) : Values{0};
  const Values schedules = given_or(space_.of(Variable::kSchedule), all);
  std::vector<Turns> turns;
  for (const Count each : schedules) {
    Plan plan = space_.base;
    set(plan, Variable::kSchedule, each);
    Values chunks = {1};
    if (!space_.open(Variable::kInterleave))
      chunks = sorted(space_.of(Variable::kInterleave));
    else if (pp > 1 && plan.schedule == Schedule::kOneFOneB)
      chunks = range(1, base::ceil_divide(model_->layers, pp));
    for (const Count interleave : chunks) {
      // Whether the layers make so many chunks, whatever the rest of the plan: asked of a small plan.
      Plan probe = plan;
      probe.tp = probe.cp = probe.ep = probe.dp = probe.micro_batch = 1;
      probe.pp = probe.gpus = pp;
      probe.global_batch = 2 * pp;  // microbatches enough for every schedule
      probe.interleave = interleave;
      probe.sequence_parallel = false;
      plain(probe);
      probe.step_in_backward = false;
      if ((chunks.size() == 1 || possible(*model_, *system_, probe)) &&
          runs_without(*model_, probe, lacking_ & turn_features_))
        turns.push_back({plan.schedule, interleave});
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
  plan.expert_tp = expert_tp(plan.tp).front();
  plan.order = static_cast<Order>(orders_.front());
  if (!turns_.front().empty()) {
    plan.schedule = turns_.front().front().schedule;
    plan.interleave = turns_.front().front().interleave;
  }
  tails(plan).front().set_on(plan);
  plan.gpus = plan.tp * plan.pp * plan.cp * plan.dp;
  return plan;
}

void Domain::each(const std::function<bool(const Plan&)>& visit) const {
  for (const Count tp : tp_)
    if (!each_of(tp, visit)) return;
}

bool Domain::each_of(Count tp, const std::function<bool(const Plan&)>& visit) const {
  for (std::size_t b = 0; b < batches().size(); ++b)
    for (const Count cp : cp_)
      for (const Count ep : ep_)
        for (const Count expert : expert_tp(tp))
          for (std::size_t p = 0; p < pp_.size(); ++p)
            for (const Count dp : dp_[b])
              for (const Count micro : micro_batch_[b]) {
                const Count replica = tp * cp * pp_[p];
                if (replica > space_.most_gpus || dp > space_.most_gpus / replica) continue;
                if (!shares(batches()[b], dp, micro)) continue;
                Plan plan = space_.base;
                plan.tp = tp, plan.global_batch = batches()[b];
                plan.cp = cp, plan.ep = ep, plan.pp = pp_[p], plan.dp = dp, plan.micro_batch = micro;
                plan.expert_tp = expert;
                plan.gpus = replica * dp;
                plan.recompute = static_cast<Recompute>(recompute_.front());
                if (!each_choice(p, plan, visit)) return false;
              }
  return true;
}

// Of plans with the same degrees and microbatches.
bool Domain::each_choice(std::size_t pp_index, Plan plan, const std::function<bool(const Plan&)>& visit) const {
  for (const Turns& turns : turns_[pp_index])
    for (const Count parallel : sequence_parallel(plan.tp)) {
      plan.schedule = turns.schedule, plan.interleave = turns.interleave;
      plan.sequence_parallel = parallel != 0;
      for (const Tail& tail : tails(plan)) {
        tail.set_on(plan);
        if (!allowed(plan)) continue;
        for (const Order order : orders(plan.cp, plan.dp, plan.pp)) {
          plan.order = order;
          for (const Count recompute : recompute_) {
            plan.recompute = static_cast<Recompute>(recompute);
            if (!visit(plan)) return false;
          }
        }
      }
    }
  return true;
}

double Domain::count() const {
  double total = 0;
  Plan plan = space_.base;
  if (plan.recompute_layers > 0 && recompute_.front() == 0) return 0;
  for (std::size_t b = 0; b < batches().size(); ++b) {
    const Count batch = batches()[b];
    plan.global_batch = batch;
    // Turns and microbatches of stages and replicas.
    using Ways = std::vector<std::vector<double>>;
    const Ways none(pp_.size(), std::vector<double>(dp_[b].size()));
    std::array<Ways, 2> ways = {none, none};  // with other schedules, with DualPipe
    for (std::size_t p = 0; p < pp_.size(); ++p)
      for (std::size_t d = 0; d < dp_[b].size(); ++d)
        for (const Count micro : micro_batch_[b]) {
          plan.tp = plan.cp = plan.ep = 1;
          plan.pp = pp_[p], plan.dp = dp_[b][d], plan.micro_batch = micro;
          plan.gpus = plan.pp * plan.dp;
          plan.sequence_parallel = false;
          plain(plan);
          if (plan.gpus > space_.most_gpus || !shares(batch, plan.dp, micro)) continue;
          for (const Turns& turns : turns_[p]) {
            plan.schedule = turns.schedule, plan.interleave = turns.interleave;
            if (possible(*model_, *system_, plan) && runs_without(*model_, plan, lacking_ & turn_features_))
              ways[held_stages(plan) == 2 ? 1 : 0][p][d] += 1;
          }
        }
    for (const Count tp : tp_)
      for (const Count cp : cp_)
        for (std::size_t d = 0; d < dp_[b].size(); ++d) {
          const Count dp = dp_[b][d];
          if (tp * cp > space_.most_gpus / dp) break;
          for (const bool dual : {false, true}) {
            std::array<double, 2> pairs = {0, 0};  // of one stage, of several
            for (std::size_t p = 0; p < pp_.size(); ++p)
              if (pp_[p] <= space_.most_gpus / (tp * cp * dp)) pairs[pp_[p] > 1 ? 1 : 0] += ways[dual ? 1 : 0][p][d];
            for (const bool piped : {false, true})
              if (const double own = pairs[piped ? 1 : 0]; own > 0)
                total += own * spreads(tp, cp, dp, piped, dual) * static_cast<double>(recompute_.size());
          }
        }
  }
  return total;
}

// How experts, sequence parallelism, what is sharded and the order on the network go together with the degrees: asked
// with one stage and one microbatch, and of the software with several.
double Domain::spreads(Count tp, Count cp, Count dp, bool piped, bool dual) const {
  Plan plan = space_.base;
  plan.tp = tp, plan.cp = cp, plan.dp = dp, plan.pp = 1;
  plan.global_batch = dp, plan.micro_batch = 1;
  plan.schedule = Schedule::kOneFOneB, plan.interleave = 1;
  plan.order = Order::kCpDpPp;
  plan.gpus = tp * cp * dp;
  plain(plan);
  const auto with_stages = [&] {
    Plan staged = plan;
    staged.pp = piped ? 2 : 1;
    if (dual) staged.schedule = Schedule::kDualPipe;
    return staged;
  };
  const auto goes = [&](Features among) {
    if (!possible(*model_, *system_, plan)) return false;
    const Plan staged = with_stages();
    return runs_without(*model_, staged, lacking_ & among);
  };
  double parts = 0;
  for (const Count parallel : sequence_parallel(tp))
    for (const Count ep : ep_)
      for (const Count expert : expert_tp(tp)) {
        plan.sequence_parallel = parallel != 0;
        plan.ep = ep, plan.expert_tp = expert;
        if (goes(~(turn_features_ | tail_features_))) parts += 1;
      }
  if (parts == 0) return 0;
  plan.sequence_parallel = false, plan.ep = 1, plan.expert_tp = 0;
  double tails_there = 0;
  for (const Tail& tail : tails(with_stages())) {
    tail.set_on(plan);
    if (goes(tail_features_)) tails_there += 1;
  }
  return parts * tails_there * orders(cp, dp, piped ? 2 : 1).count;
}

}  // namespace orrery::cluster
