// Two bounds, the second of which costs ten times the first. Tokens go to experts, keys and values to their neighbours
// over networks whose distance depends on stages, replicas and their order: the true bound of a group is the least over
// all such places. Without that communication, and with nothing computed again, one evaluation bounds all groups of a
// bundle; of the fewest bytes one memory_bound() for each number of stages does. Bundles are listed by that bound, and
// the true ones are asked for as far as a group of the bundle could be the next: a good plan excludes most bundles
// before.
//
// Cost: some 3 us a bundle, 10 to 50 us for each whose groups are bounded.
#include "orrery/engines/cluster/search/groups.h"

#include <algorithm>

#include "orrery/base/limits/parallel.h"

namespace orrery::cluster {
namespace {

using base::Count;

constexpr std::size_t kTask = 256;   // bundles that a thread takes at once
constexpr std::size_t kAhead = 256;  // bundles whose groups are bounded together

}  // namespace

Groups::Groups(const Question& question, const base::Budget& budget, int threads)
    : q_(question), budget_(budget), threads_(threads), first_(question.domain.first()) {
  const Domain& domain = q_.domain;
  for (const Count order : domain.orders()) orders_.push_back(static_cast<Order>(order));
  for (std::size_t p = 0; p < domain.pp().size(); ++p) dual_ = dual_ || domain.odd_turns(p).dual;
  bytes_first_ = q_.metrics.front() == Metric::kMemory;
}

Plan Groups::plan_of(const Bundle& bundle, Count recompute) const {
  Plan plan = first_;
  plan.global_batch = q_.domain.batches()[bundle.batch];
  plan.tp = bundle.tp, plan.cp = bundle.cp, plan.ep = bundle.ep;
  plan.micro_batch = bundle.micro_batch;
  plan.expert_tp = bundle.expert_tp;
  plan.sequence_parallel = bundle.sequence_parallel;
  plan.recompute = static_cast<Recompute>(recompute);
  if (dual_) plan.schedule = Schedule::kDualPipe;
  return plan;
}

// Whether any plan of the bundle can be possible: asked with one stage, and the fewest replicas that hold the experts.
bool Groups::may_be(const Bundle& bundle) const {
  Plan plan = plan_of(bundle, static_cast<Count>(first_.recompute));
  plan.pp = plan.interleave = 1;
  plan.schedule = Schedule::kOneFOneB;
  plan.zero = 0;
  plan.shard = 0;
  plan.offload_activations = plan.offload_optimizer = 0;
  plan.order = Order::kCpDpPp;
  for (Count dp = 1; dp <= plan.ep; ++dp) {
    if (plan.ep % dp != 0) continue;
    plan.dp = dp;
    plan.gpus = plan.tp * plan.cp * dp;
    plan.global_batch = dp * plan.micro_batch;
    if (q_.domain.allowed(plan)) return true;
  }
  return false;
}

// A bound over all numbers of stages, with as many replicas as there can be; the first that is `enough` will do.
double Groups::fewest_bytes(Plan plan, std::size_t batch, double enough) const {
  const Domain& domain = q_.domain;
  domain.offload_all(plan);
  const Count sequences = domain.batches()[batch] / plan.micro_batch;
  double fewest = kNever;
  for (std::size_t p = 0; p < domain.pp().size() && !(fewest <= enough); ++p) {
    plan.pp = domain.pp()[p];
    const Count replica = plan.tp * plan.cp * plan.pp;
    if (replica > domain.space().most_gpus || domain.turns(p).empty()) continue;
    plan.dp = std::max<Count>(1, std::min(domain.space().most_gpus / replica, sequences));
    plan.gpus = replica * plan.dp;
    fewest = std::min(fewest, memory_bound(q_.model, plan, domain.odd_turns(p).lightest));
  }
  return fewest;
}

double Groups::order_of(const Plan& plan, double whole_s, double bytes) const {
  const Count share = plan.tp * plan.cp;
  const Count busy = q_.domain.space().most_gpus / share;  // stages and replicas
  const auto batch = static_cast<double>(plan.global_batch);
  const double seconds = batch / static_cast<double>(plan.micro_batch) * whole_s / static_cast<double>(busy);
  const auto least = static_cast<double>(share), most = static_cast<double>(share * busy);
  if (surely_over(q_, seconds, batch, least, most)) return kNever;
  return bound_of(q_, seconds, bytes, batch, least, most, false).least[0];
}

// Of all groups of the bundle.
double Groups::coarse_order(const Bundle& bundle) const {
  const Values& recompute = q_.domain.recompute();
  if (bytes_first_) {
    double fewest = kNever;
    for (const Count again : recompute)
      fewest = std::min(fewest, fewest_bytes(plan_of(bundle, again), bundle.batch, 0));
    return fewest;
  }
  const Plan plan = plan_of(bundle, recompute.size() == 1 ? recompute.front() : 0);  // computing again only adds
  return order_of(plan, whole_seconds_alone(q_.model, q_.system, plan, q_.operators), 0);
}

bool Groups::find() {
  base::Ticker clock(budget_, kEvery);
  const Domain& domain = q_.domain;
  const Count most = domain.space().most_gpus;
  std::uint32_t reach = 0;
  for (std::size_t b = 0; b < domain.batches().size(); ++b)
    for (const Count tp : domain.tp())
      for (const Count cp : domain.cp()) {
        if (tp * cp > most) continue;
        for (const Count ep : domain.ep())
          for (const Count expert : domain.expert_tp(tp)) {
            for (const Count micro : domain.micro_batches(b)) {
              if (!domain.shares(domain.batches()[b], 1, micro)) continue;
              for (const Count parallel : domain.sequence_parallel(tp)) {
                if (clock.spent()) return false;
                bundles_.push_back({tp, cp, ep, micro, expert, static_cast<std::uint32_t>(b), reach, parallel != 0, 0});
              }
            }
            ++reach;
          }
      }
  reaches_.resize(reach);
  return bound_bundles();
}

bool Groups::bound_bundles() {
  const std::size_t tasks = (bundles_.size() + kTask - 1) / kTask;
  std::vector<char> kept(bundles_.size(), 0), ended(tasks, 1);
  base::parallel_for(tasks, threads_, [&](std::size_t task) {
    base::Ticker clock(budget_, kEvery);
    for (std::size_t i = task * kTask; i < std::min(bundles_.size(), (task + 1) * kTask); ++i) {
      if (clock.spent()) {
        ended[task] = 0;
        return;
      }
      if (!may_be(bundles_[i])) continue;
      kept[i] = 1;
      if (!q_.options.enumerate) bundles_[i].order = coarse_order(bundles_[i]);
    }
  });
  if (std::find(ended.begin(), ended.end(), 0) != ended.end()) return false;
  std::size_t count = 0;
  for (std::size_t i = 0; i < bundles_.size(); ++i)
    if (kept[i] != 0) bundles_[count++] = bundles_[i];
  bundles_.resize(count);
  std::stable_sort(bundles_.begin(), bundles_.end(),
                   [](const Bundle& a, const Bundle& b) { return a.order < b.order; });
  return true;
}

void Groups::reach_of(const Bundle& bundle) {
  const Domain& domain = q_.domain;
  const Plan plan = plan_of(bundle, 0);
  const auto of = [&](Count expert_tp) {
    return reaches(q_.system, plan, expert_tp, orders_, domain.pp(), domain.dp(bundle.batch), domain.space().most_gpus);
  };
  BundleReach& reach = reaches_[bundle.reach];
  if (plan.expert_tp > 0 || plan.tp == 1 || !q_.model.mixes()) {
    reach.cut = of(plan.expert_tp);
  } else {
    reach.cut = of(plan.tp);
    reach.whole = of(1);
  }
}

// The groups of the next bundles. False: the budget was spent.
bool Groups::bound_next() {
  const std::size_t last = std::min(bundles_.size(), next_ + kAhead);
  const Values& recompute = q_.domain.recompute();
  const double most_bytes = std::min(q_.limits.memory, q_.limits.in_use);
  std::vector<std::size_t> unknown;  // bundles whose degrees are met for the first time
  for (std::size_t i = next_; i < last && !q_.options.enumerate; ++i) {
    BundleReach& reach = reaches_[bundles_[i].reach];
    if (!reach.known) unknown.push_back(i);
    reach.known = true;
  }
  std::vector<std::vector<Bounded>> found(last - next_);
  std::vector<char> ended(unknown.size() + found.size(), 1);
  base::parallel_for(unknown.size(), threads_, [&](std::size_t i) {
    if (budget_.spent())
      ended[i] = 0;
    else
      reach_of(bundles_[unknown[i]]);
  });
  base::parallel_for(found.size(), threads_, [&](std::size_t i) {
    if (budget_.spent()) {
      ended[unknown.size() + i] = 0;
      return;
    }
    const Bundle& bundle = bundles_[next_ + i];
    for (const Count again : recompute) {
      const Plan plan = plan_of(bundle, again);
      Bounded group{static_cast<std::uint32_t>(next_ + i), static_cast<std::uint32_t>(again), 0, 0};
      if (!q_.options.enumerate) {
        const double bytes = fewest_bytes(plan, bundle.batch, bytes_first_ ? 0 : most_bytes);
        if (bytes > most_bytes) continue;
        const BundleReach& reach = reaches_[bundle.reach];
        group.whole_s = whole_seconds(q_.model, q_.system, plan, q_.operators, reach.cut, reach.whole);
        group.order = order_of(plan, group.whole_s, bytes);
      }
      found[i].push_back(group);
    }
  });
  if (std::find(ended.begin(), ended.end(), 0) != ended.end()) return false;
  for (const std::vector<Bounded>& groups : found) {
    unfit_ += recompute.size() - groups.size();
    for (const Bounded& group : groups) {
      heap_.push_back(group);
      std::push_heap(heap_.begin(), heap_.end(), after);
    }
  }
  next_ = last;
  return true;
}

bool Groups::after(const Bounded& a, const Bounded& b) {
  if (a.order != b.order) return a.order > b.order;
  return a.bundle != b.bundle ? a.bundle > b.bundle : a.recompute > b.recompute;
}

double Groups::least() const {
  double least = kNever;
  if (!heap_.empty()) least = heap_.front().order;
  if (next_ < bundles_.size()) least = std::min(least, bundles_[next_].order);
  return least;
}

std::uint64_t Groups::left() const {
  return heap_.size() + (bundles_.size() - next_) * q_.domain.recompute().size();
}

std::vector<Group> Groups::next(std::size_t most, double worst, bool& spent) {
  spent = false;
  const auto unsure = [&] {
    return next_ < bundles_.size() && bundles_[next_].order <= worst && bundles_[next_].order < kNever &&
           (heap_.empty() || bundles_[next_].order <= heap_.front().order);
  };
  std::vector<Group> groups;
  while (groups.size() < most) {
    while (unsure()) {
      spent = !bound_next();
      if (spent) return groups;
    }
    if (heap_.empty() || heap_.front().order > worst || heap_.front().order == kNever) break;
    const Bounded first = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), after);
    heap_.pop_back();
    const Bundle& bundle = bundles_[first.bundle];
    groups.push_back({plan_of(bundle, first.recompute), bundle.batch, first.whole_s, first.order});
  }
  return groups;
}

}  // namespace orrery::cluster
