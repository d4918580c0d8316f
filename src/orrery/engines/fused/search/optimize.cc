// From sets of mappings to the best loop tree.
//
// First every einsum alone, all tensors handed on in the outermost storage: an answer, and with the least that each
// einsum can cost in any case a bound for all that follows. Then the sets of all interfaces, without what the bound
// rules out; a narrow join for a better answer; the full join, which proves it.
#include "orrery/engines/fused/search/optimize.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/fused/model/evaluate.h"
#include "orrery/engines/fused/search/infeasible.h"
#include "orrery/engines/fused/search/labels.h"
#include "orrery/engines/fused/search/rebuild.h"

namespace orrery::fused {
namespace {

constexpr double kLinesOfOne = 500, kLinesInHaste = 16;  // of an einsum, for an answer at once
constexpr double kNestsInHaste = 256, kHaste = 0.1;      // of a line and a tile; seconds, once there is an answer
constexpr std::size_t kBeam = 4;
constexpr std::uint32_t kBetweenLooks = 16;  // at the clock: an einsum's tile may take milliseconds between two

std::string unsupported(const Machine& machine) {
  int levels = 0;
  for (std::size_t s = 0; s < machine.storages.size(); ++s) {
    if (!machine.storages[s].exchange) continue;
    if (++levels > 1) return "more than one exchange level on the chip";
    if (s != 1)
      return fmt::format("{} stands between the outermost storage and {}, an exchange level",
                         machine.storages[s - 1].name, machine.storages[s].name);
  }
  return "";
}

// The least that an einsum and all others can cost; with it, whether a mapping may be part of something better.
class Rest final : public Hope {
 public:
  // `one`: of each einsum a single mapping will do, the one that is best if all others cost the least.
  Rest(Goal goal, const base::Budget& budget, double incumbent, bool one = false, double lines = kUnlimited)
      : goal_(goal), ticker_(budget, kBetweenLooks), incumbent_(incumbent), one_(one), lines_(lines) {}
  bool spent() const { return ticker_.was_spent(); }
  void others(double energy, double delay) {
    energy_ = energy;
    delay_ = delay;
    if (one_) incumbent_ = kUnlimited;
  }
  // Once time is up, a single mapping that was found is.
  bool wanted(const Cost& cost) override {
    if (ended() && !one_) return false;
    return incumbent_ == kUnlimited || value(cost) <= incumbent_ * (1 + 1e-9);
  }
  void found(const Cost& cost) override {
    if (one_) incumbent_ = std::min(incumbent_, value(cost));
  }
  // Haste ends with an answer.
  bool ended() override { return (lines_ != kLinesInHaste || incumbent_ < kUnlimited) && ticker_.spent(); }
  double most_lines() const override { return lines_; }
  double most_nests() const override { return lines_ == kLinesInHaste ? kNestsInHaste : kUnlimited; }

 private:
  double value(const Cost& cost) const { return goal_value(goal_, cost.energy + energy_, cost.delay() + delay_); }

  Goal goal_;
  base::Ticker ticker_;
  double incumbent_;
  bool one_;
  double lines_;
  double energy_ = 0;
  double delay_ = 0;
};

// Two einsums with the same mappings.
bool alike(const Problem& problem, int a, int b) {
  const Einsum& x = problem.einsums[a];
  const Einsum& y = problem.einsums[b];
  const std::vector<Life> life = lives(problem);
  if (x.variables != y.variables || x.accesses.size() != y.accesses.size() || x.unit != y.unit || x.copy != y.copy ||
      x.times != y.times || x.keep != y.keep || x.bits != y.bits || x.capacity != y.capacity ||
      x.fanouts.size() != y.fanouts.size())
    return false;
  for (std::size_t f = 0; f < x.fanouts.size(); ++f)
    if (x.fanouts[f].allowed != y.fanouts[f].allowed || x.fanouts[f].shares != y.fanouts[f].shares ||
        x.fanouts[f].min_usage != y.fanouts[f].min_usage)
      return false;
  for (std::size_t i = 0; i < x.accesses.size(); ++i) {
    const Tensor& s = problem.tensors[x.accesses[i].tensor];
    const Tensor& t = problem.tensors[y.accesses[i].tensor];
    const auto handed = [&](const Access& access) { return life[access.tensor].first < life[access.tensor].last; };
    if (x.accesses[i].variables != y.accesses[i].variables || s.bits != t.bits || s.kind != t.kind ||
        handed(x.accesses[i]) != handed(y.accesses[i]))
      return false;
    for (const FuseRule& rule : problem.fuse)
      if (rule.tensor == x.accesses[i].tensor || rule.tensor == y.accesses[i].tensor) return false;
  }
  return true;
}

class Search {
 public:
  Search(const Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        budget_(options.limits),
        einsums_(static_cast<int>(problem.einsums.size())) {
    if (!options.front) {
      double leakage = 0;
      for (int e = 0; e < einsums_; ++e) leakage = std::max(leakage, EinsumView(problem, e).leakage());
      counted_.energy = options.goal != Goal::kDelay;
      counted_.delay = options.goal != Goal::kEnergy || leakage > 0;
    }
  }

  Result run() {
    const base::Stopwatch clock;
    least_of_each();
    double known = apart();
    if (options_.front) known = kUnlimited;
    Rest rest(options_.goal, budget_, known);
    make_sets(options_, rest);
    if (!options_.front) known = narrow(known, budget_);
    const JoinResult joined = join_sets(0, known, budget_);
    complete_ = complete_ && !rest.spent() && joined.complete;
    report(joined, clock.seconds());
    return std::move(result_);
  }

 private:
  double value(const Solution& one) const { return goal_value(options_.goal, one.energy, one.latency); }

  // A good answer without fusion, whatever the limit.
  double apart() {
    SearchOptions alone = options_;
    alone.fuse = false;
    Rest one(options_.goal, budget_, kUnlimited, true, kLinesOfOne);
    make_sets(alone, one);
    if (one.spent()) {
      base::Limits haste;
      haste.seconds = kHaste;
      haste.memory = 0;
      const base::Budget soon(haste);
      Rest hasty(options_.goal, soon, kUnlimited, true, kLinesInHaste);
      make_sets(alone, hasty);
    }
    const double known = narrow(kUnlimited, without_limit_);
    result_.apart = result_.best;
    return known;
  }

  // A few labels a key: an answer at once, if not the best one.
  double narrow(double known, const base::Budget& budget) {
    const JoinResult joined = join_sets(kBeam, known, budget);
    if (joined.answers.empty()) return known;
    const Solution one = solution(joined.answers.front());
    if (!result_.best || value(one) < value(*result_.best)) result_.best = one;
    return std::min(known, value(one));
  }

  void make_sets(const SearchOptions& options, Rest& rest) {
    made_.clear();
    made_.reserve(einsums_);
    sets_.clear();
    for (int e = 0; e < einsums_; ++e) {
      const OperatorMappings* same = nullptr;
      for (int other = 0; other < e && same == nullptr; ++other)
        if (alike(problem_, other, e)) same = sets_[other];
      if (same == nullptr) {
        double energy = 0;
        double delay = 0;
        for (int other = 0; other < static_cast<int>(least_.size()); ++other) {
          if (other == e) continue;
          energy += least_[other].first;
          delay += least_[other].second;
        }
        rest.others(energy, delay);
        made_.push_back(operator_mappings(problem_, shapes_[e], options, counted_, rest));
        same = &made_.back();
      }
      sets_.push_back(same);
      if (&options == &options_ && !rest.spent()) least_of(e, *same);
    }
  }

  // What each einsum costs at least, wherever its tensors are handed on.
  void least_of_each() {
    for (int e = 0; e < einsums_; ++e) {
      int same = 0;
      while (same < e && !alike(problem_, same, e)) ++same;
      if (same < e) {
        shapes_.push_back(shapes_[same]);
        least_.push_back(least_[same]);
        continue;
      }
      Rest all(options_.goal, budget_, kUnlimited);
      shapes_.push_back(std::make_shared<const EinsumShape>(problem_, e, [&] { return all.ended(); }));
      const EinsumShape& shape = *shapes_.back();
      complete_ = complete_ && shape.spreads.complete();
      const LevelTable level(shape, counted_, all);
      const EinsumView& view = shape.view;
      unsigned own = 0;
      for (int a = 0; a < view.accesses(); ++a)
        if (view.tensor(a).kind != TensorKind::kIntermediate) own |= 1U << a;
      std::pair<double, double> least{kUnlimited, kUnlimited};
      for (unsigned outside = 0; outside < (shape.exchange < 0 ? 1U : 1U << view.accesses()); ++outside) {
        const Cost cost = level.least(outside & own, outside);
        least = {std::min(least.first, cost.energy), std::min(least.second, cost.delay())};
      }
      least_.push_back(view.e.copy || all.spent() ? std::pair{0.0, 0.0} : least);
    }
  }

  void least_of(int e, const OperatorMappings& set) {
    double energy = kUnlimited;
    double delay = kUnlimited;
    for (const Interface& face : set.interfaces)
      for (const Mapping& m : face.mappings) {
        energy = std::min(energy, m.energy);
        delay = std::min(delay, m.delay);
      }
    if (energy < kUnlimited) least_[e] = {std::max(least_[e].first, energy), std::max(least_[e].second, delay)};
  }

  JoinResult join_sets(std::size_t beam, double incumbent, const base::Budget& budget) {
    JoinOptions options;
    options.goal = options_.goal;
    options.front = options_.front && beam == 0;
    options.beam = beam;
    options.incumbent = incumbent;
    return join(problem_, sets_, options, budget);
  }

  void report(const JoinResult& joined, double seconds) {
    for (const OperatorMappings* set : sets_) result_.size.sets.push_back(set->size);
    result_.size.labels = joined.labels;
    result_.size.joins = joined.joins;
    base::Certificate& proof = result_.certificate;
    proof.space = 1;
    for (const OperatorMappings& set : made_) proof.evaluated += static_cast<std::uint64_t>(set.size.placements);
    for (const OperatorMappings* set : sets_) proof.space *= std::max(1.0, set->size.placements);
    proof.pruned = {{"capacity", static_cast<std::uint64_t>(joined.over_capacity)},
                    {"dominance", static_cast<std::uint64_t>(joined.dominated)},
                    {"bound", static_cast<std::uint64_t>(joined.bounded)}};
    proof.seconds = seconds;
    proof.optimal = complete_;
    for (const Joined& one : joined.answers) add_to_front(result_.front, solution(one));
    if (options_.front && result_.best) {
      if (!complete_) add_to_front(result_.front, *result_.best);
      result_.best.reset();
    }
    for (const Solution& one : result_.front)
      if (!result_.best || value(one) < value(*result_.best)) result_.best = one;
    if (!options_.front) result_.front.clear();
    if (!result_.best) {
      result_.infeasible =
          complete_ ? why_none(problem_, options_, sets_) : "time or memory was up before anything was found";
      if (complete_) proof.close_empty();
      return;
    }
    const double found = goal_value(options_.goal, result_.best->energy, result_.best->latency);
    double energy = 0;
    double delay = 0;
    for (const auto& [e, d] : least_) {
      energy += e;
      delay += d;
    }
    proof.close(found, proof.optimal ? found : goal_value(options_.goal, energy, delay));
  }

  Solution solution(const Joined& joined) const {
    Solution one;
    one.tree = rebuild(sets_, joined);
    const Evaluation priced = evaluate(problem_, one.tree);
    if (!priced.legal())
      throw std::logic_error("the search made a tree that is not allowed: " + priced.faults[0].reason);
    one.energy = priced.energy;
    one.latency = priced.latency;
    return one;
  }

  const Problem& problem_;
  SearchOptions options_;
  base::Budget budget_;
  base::Budget without_limit_;
  bool complete_ = true;
  int einsums_ = 0;
  Counted counted_;
  std::vector<std::shared_ptr<const EinsumShape>> shapes_;  // by einsum; listing their layouts takes time
  std::vector<OperatorMappings> made_;
  std::vector<const OperatorMappings*> sets_;     // by einsum
  std::vector<std::pair<double, double>> least_;  // energy and delay, by einsum
  Result result_;
};

}  // namespace

void add_to_front(std::vector<Solution>& front, Solution one) {
  const auto beats = [](const Solution& a, const Solution& b) {
    return a.energy <= b.energy && a.latency <= b.latency;
  };
  if (std::any_of(front.begin(), front.end(), [&](const Solution& known) { return beats(known, one); })) return;
  std::erase_if(front, [&](const Solution& known) { return beats(one, known); });
  const auto at =
      std::find_if(front.begin(), front.end(), [&](const Solution& known) { return known.energy > one.energy; });
  front.insert(at, std::move(one));
}

Result optimize(const Problem& problem, const SearchOptions& options) {
  Result refused;
  refused.infeasible = fault(problem);
  if (refused.infeasible.empty()) refused.infeasible = unsupported(problem.machine);
  if (!refused.infeasible.empty()) return refused;
  try {
    return Search(problem, options).run();
  } catch (const std::length_error& beyond) {  // what the tables are not made for
    refused.infeasible = beyond.what();
    return refused;
  }
}

}  // namespace orrery::fused
