// A plan of every tp, pp and ep with the most replicas, one microbatch of the fewest sequences, and as little computed
// again as memory allows. From the best of each ep, one choice is changed at a time, and what is sharded with it, for
// as long as that helps (coordinate descent): ep goes with so many other choices that changing it alone rarely does.
// Before a change is tried with all that can be sharded and offloaded, its stages bound it, as they do in the search:
// most changes make it worse.
//
// What is found decides nothing: it lets the search exclude more from the start on, and is a good plan where time ends
// the search early. Time that ends before there is one is overstepped by some milliseconds: without a plan there is no
// answer at all. Cost: some thousand evaluations.
#include "orrery/engines/cluster/search/initial_plans.h"

#include <algorithm>
#include <vector>

#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {
namespace {

using base::Count;

class InitialPlans {
 public:
  InitialPlans(const Question& question, const base::Budget& budget, Counts& counts)
      : q_(question), budget_(budget), clock_(budget, kEvery), counts_(counts) {}

  // Plans with that ep, of every tp and pp, go into `incumbents`. False: the budget was spent.
  bool of_every_tp_and_pp(Count ep, Incumbents& incumbents) {
    incumbents_ = &incumbents;
    const Domain& domain = q_.domain;
    Plan plan = domain.first();
    plan.ep = ep;
    for (const Count tp : domain.tp())
      for (std::size_t p = 0; p < domain.pp().size(); ++p) {
        plan.tp = tp, plan.pp = domain.pp()[p];
        if (domain.turns(p).empty() || !take_most_replicas(plan)) continue;
        plan.schedule = domain.turns(p).front().schedule;
        plan.interleave = domain.turns(p).front().interleave;
        take_cuts(plan);
        bool fits = false;
        for (std::size_t r = 0; r < domain.recompute().size() && !fits; ++r) {
          plan.recompute = static_cast<Recompute>(domain.recompute()[r]);
          if (!sharded(plan, fits)) return false;
        }
        if (q_.options.any && !incumbents.all().empty()) return true;
      }
    return true;
  }

  bool found() const { return found_; }

  bool go_down(Incumbents& incumbents) {
    incumbents_ = &incumbents;
    constexpr int kMostRounds = 12;
    if (incumbents.all().empty()) return true;
    for (int round = 0; round < kMostRounds; ++round) {
      const Plan from = best();
      for (const Variable variable : kVariables) {
        const Plan at = best();
        for (const Count value : values(variable, at))
          if (!changed(at, variable, value)) return false;
      }
      const Plan to = best();
      if (!comes_before(to, from) && !comes_before(from, to)) return true;
    }
    return true;
  }

 private:
  static constexpr int kMostLate = 10'000;  // steps, each a microsecond or less

  bool spent() {
    if (!clock_.spent()) return false;
    return found_ || budget_.interrupted() || budget_.out_of_memory() || ++late_ > kMostLate;
  }

  Plan best() const { return incumbents_->all().front().plan; }

  Values values(Variable variable, const Plan& at) const {
    const Domain& d = q_.domain;
    switch (variable) {
      case Variable::kTp:
        return d.tp();
      case Variable::kPp:
        return d.pp();
      case Variable::kCp:
        return d.cp();
      case Variable::kEp:
        return d.ep();
      case Variable::kDp:
        return d.dp(0);
      case Variable::kMicroBatch:
        return d.micro_batches(0);
      case Variable::kRecompute:
        return d.recompute();
      case Variable::kSequenceParallel:
        return d.sequence_parallel(at.tp);
      case Variable::kExpertTp:
        return d.expert_tp(at.tp);
      case Variable::kOrder:
        return d.orders();
      case Variable::kSchedule:
        return {0};  // all turns at once
      default:
        return {};  // goes with the others
    }
  }

  // The plan with that choice, and with every one of what has to go with it.
  bool changed(Plan plan, Variable variable, Count value) {
    set(plan, variable, value);
    const Domain& d = q_.domain;
    const Count most = d.space().most_gpus, replica = plan.tp * plan.pp * plan.cp;
    if (variable == Variable::kTp) take_cuts(plan);
    if (variable == Variable::kTp || variable == Variable::kPp || variable == Variable::kCp) {
      if (!take_most_replicas(plan)) return true;
    } else if (plan.dp > most / replica || !d.shares(plan.global_batch, plan.dp, plan.micro_batch)) {
      return true;
    }
    plan.gpus = replica * plan.dp;
    const Orders orders = d.orders(plan.cp, plan.dp, plan.pp);  // of those that place the degrees alike, the first
    if (std::find(orders.begin(), orders.end(), plan.order) == orders.end()) {
      if (variable == Variable::kOrder) return true;
      plan.order = *orders.begin();
    }
    if (variable != Variable::kSchedule && variable != Variable::kPp) return sharded(plan);
    const auto stages = std::find(d.pp().begin(), d.pp().end(), plan.pp) - d.pp().begin();
    const std::vector<Turns>& all = d.turns(static_cast<std::size_t>(stages));
    for (const Turns& turns : all) {
      const bool alike = turns.schedule == plan.schedule && turns.interleave == plan.interleave;
      if (variable == Variable::kPp && !alike && &turns != &all.front()) continue;
      Plan turned = plan;
      turned.schedule = turns.schedule, turned.interleave = turns.interleave;
      if (!sharded(turned)) return false;
    }
    return true;
  }

  // What tensor ranks are for beside the products.
  void take_cuts(Plan& plan) const {
    plan.sequence_parallel = q_.domain.sequence_parallel(plan.tp).back() != 0;
    plan.expert_tp = q_.domain.expert_tp(plan.tp).front();
  }

  // False: not one replica.
  bool take_most_replicas(Plan& plan) const {
    const Domain& d = q_.domain;
    const Count most = d.space().most_gpus, replica = plan.tp * plan.pp * plan.cp;
    const Values& dps = d.dp(0);
    const auto fits = [&](Count dp) {
      return dp <= most / replica && d.shares(plan.global_batch, dp, plan.micro_batch);
    };
    const auto dp = std::find_if(dps.rbegin(), dps.rend(), fits);
    if (replica > most || dp == dps.rend()) return false;
    plan.dp = *dp;
    plan.gpus = replica * plan.dp;
    return true;
  }

  bool sharded(const Plan& plan) {
    bool fits = false;
    return sharded(plan, fits);
  }

  // With everything that can be sharded and offloaded; `fits`: some of it is within the memory. False: the budget was
  // spent.
  bool sharded(Plan plan, bool& fits) {
    bool weighed = false;
    for (const Domain::Tail& tail : q_.domain.tails(plan)) {
      if (spent()) return false;
      tail.set_on(plan);
      if (!q_.domain.allowed(plan) || !within(q_.limits, bytes_of(q_.model, q_.system, plan)) ||
          !hosts_hold(q_.model, q_.system, plan))
        continue;
      fits = true;
      if (!weighed && hopeless(plan)) return true;
      weighed = true;
      if (take(q_, plan, *incumbents_, counts_)) found_ = true;
    }
    return true;
  }

  // Whatever is sharded.
  bool hopeless(const Plan& plan) const {
    const Pipeline pipe = stages_of(q_.model, q_.system, plan, q_.operators);
    const auto gpus = static_cast<double>(plan.gpus);
    const ScoreBound bound = bound_of(q_, pipeline_bound(q_.model, plan, pipe), 0,
                                      static_cast<double>(plan.global_batch), gpus, gpus, false);
    return incumbents_->hopeless(bound, plan.tp, plan.pp);
  }

  const Question& q_;
  const base::Budget& budget_;
  base::Ticker clock_;
  bool found_ = false;                // a plan
  int late_ = 0;                      // steps after the end
  Incumbents* incumbents_ = nullptr;  // where plans go now
  Counts& counts_;
};

}  // namespace

bool initial_plans(const Question& question, const base::Budget& budget, Incumbents& incumbents, Counts& counts) {
  InitialPlans plans(question, budget, counts);
  const SearchOptions& options = question.options;
  const bool best_alone = !options.any && !options.cells && !question.objective.front;
  const std::size_t most = std::max<std::size_t>(1, options.top);  // a search excludes by the worst of so many
  std::vector<Incumbents> starts;
  for (const Count ep : question.domain.ep()) {
    Incumbents& own = best_alone ? starts.emplace_back(question.objective, Incumbents::Mode::kBest, most) : incumbents;
    const bool ended = !plans.of_every_tp_and_pp(ep, own);
    if (best_alone) incumbents.take(own);
    if (ended) return false;
    if (options.any && !incumbents.all().empty()) return true;
  }
  if (!plans.found() && budget.spent()) return false;
  // From the most promising on.
  const auto score = [&](const Incumbents& own) {
    const std::vector<Candidate> all = own.all();
    return all.empty() ? kNever : all.front().score[0];
  };
  std::stable_sort(starts.begin(), starts.end(),
                   [&](const Incumbents& a, const Incumbents& b) { return score(a) < score(b); });
  for (Incumbents& own : starts) {
    const bool ended = !plans.go_down(own);
    incumbents.take(own);
    if (ended) return false;
  }
  return true;
}

}  // namespace orrery::cluster
