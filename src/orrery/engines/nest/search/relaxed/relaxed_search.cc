#include "orrery/engines/nest/search/relaxed/relaxed_search.h"

#include <algorithm>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/local_search.h"

namespace orrery::nest {

namespace {

constexpr double kForImproving = 1.0 / 3;  // of the time
constexpr double kLeastSeconds = 1e-3;     // for each cheaper problem
constexpr int kRandomChanges = 4'000;      // of the first round

}  // namespace

RelaxedSearch::RelaxedSearch(const Model& model, const machine::Chip& chip, const Mapspace& mapspace,
                             const Space& space, const std::vector<Metric>& objective, const SearchRules& rules,
                             const base::Budget& budget)
    : model_(model),
      chip_(chip),
      mapspace_(mapspace),
      space_(space),
      rules_(rules),
      budget_(budget),
      incumbent_(objective, rules) {}

bool RelaxedSearch::runs(const Mapping& mapping) const {
  return perfect(mapping) && is_legal(model_.einsum(), chip_, mapping) &&
         is_allowed(model_.einsum(), chip_, mapping, mapspace_);
}

bool RelaxedSearch::offer(const Mapping& mapping) {
  ++evaluated_;
  const Evaluation* const found = price(mapping);
  if (!found || !incumbent_.offer(mapping, *found)) return false;
  taken();
  return true;
}

void RelaxedSearch::offer_layouts(const Mapping& mapping) {
  for_each_layout(
      space_, mapping, [&](const Mapping& laid) { return runs(laid); },
      [&](const Mapping& laid) {
        if (!budget_.spent()) offer(laid);
      });
}

Optimum RelaxedSearch::relaxed(const Model& model, const std::vector<Metric>& objective, double part,
                               SearchRules rules) {
  if (budget_.limited()) rules.seconds = std::max(kLeastSeconds, budget_.seconds_left() * part);
  rules.max_cycles = 0;
  rules.beat = nullptr;
  Optimum least = optimize(model, mapspace_, objective, rules);
  interrupted_ = interrupted_ || least.interrupted;
  out_of_memory_ = out_of_memory_ || least.out_of_memory;
  return least;
}

void RelaxedSearch::improve() {
  if (!incumbent_.mapping()) return;
  const base::Budget part(budget_, budget_.seconds_left() * kForImproving);
  base::Ticker clock(part, 4);
  std::vector<base::Count> bounds;
  for (const workload::Dimension& dimension : model_.einsum().dimensions) bounds.push_back(dimension.bound);
  const Mapping from = *incumbent_.mapping();
  local_search(
      space_, bounds, from, [&](const Mapping& mapping) { return runs(mapping) && offer(mapping); }, clock);
}

void RelaxedSearch::anneal(int rounds) {
  for (; rounds > 0 && !budget_.spent(); --rounds) {
    ++rounds_;
    const auto found = initial_solution(model_, space_, incumbent_.objective(), rules_.max_cycles, budget_,
                                        kRandomChanges * rounds_, static_cast<std::uint64_t>(rounds_));
    if (!found) return;
    if (runs(found->mapping) && offer(found->mapping)) improve();
  }
}

bool RelaxedSearch::enumerate_all(EnumerationRules rules, const base::Budget& budget) {
  if (partial_ && rules_.prune_by_bound)
    rules.open = [&](const Mapping& mapping, int level) {
      return !incumbent_.drop(partial_->least(mapping, level, incumbent_.objective()));
    };
  const auto use = [&](const Mapping& mapping) {
    offer(mapping);
    return true;
  };
  return enumerate(model_.einsum(), space_, use, budget, rules) && space_.complete();
}

Optimum RelaxedSearch::answer(bool proven, double bound) {
  const double best = incumbent_.best()[0];
  Optimum optimum = incumbent_.answer(proven, bound);
  optimum.interrupted = interrupted_ || budget_.interrupted();
  optimum.out_of_memory = out_of_memory_ || budget_.out_of_memory();
  optimum.certificate.space = space_.size();
  optimum.certificate.evaluated = evaluated_;
  if (optimum.mapping) optimum.certificate.close(best, std::min(bound, best));
  return optimum;
}

}  // namespace orrery::nest
