// The search where hardware knows zeros, by the sparse model: bounded by the dense optimum on a cheaper chip
// (sparse_bound.cc).
//
// Beside that dense optimum, quick mappings whose tiles fit dense are where improvement begins. Tensors whose tiles
// take longer to count leave room to enumerate smaller spaces only.
#include "orrery/engines/nest/search/relaxed/sparse_search.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/relaxed/relaxed_search.h"
#include "orrery/engines/nest/sparse/sparse_model.h"

namespace orrery::nest {

namespace {

// Parts of the time for the bound, and for a first mapping where neither it nor a dense one fits.
constexpr double kSparseSearchForBound = 1.0 / 3, kSparseSearchForFirst = 1.0 / 3;
// For each mapping to begin with, at most.
constexpr double kSecondsToStart = 1;

// Mappings that are priced one by one, at most, of tensors whose tiles are counted at once.
constexpr double kEnumerable = 5'000'000;
// What sums in another order may differ by, at most.
constexpr double kRounded = 2e-9;

class SparseSearch : private RelaxedSearch {
 public:
  SparseSearch(const Model& model, const SparseDesign& design, const machine::Chip& roomy, const Mapspace& mapspace,
               const Space& space, const std::vector<Metric>& objective, const SearchRules& rules,
               const base::Budget& budget)
      : RelaxedSearch(model, roomy, mapspace, space, objective, rules, budget), design_(design) {}

  SparseOptimum run() {
    const double bound = bound_and_first();
    if (answer_.optimum.infeasible) return std::move(answer_);
    if (!incumbent_.mapping()) find_first();
    improve();
    double effort = 1;
    for (const Density& density : design_.densities) effort = std::max(effort, density.effort());
    answer_.enumerated = space_.size() * effort <= kEnumerable && enumerate_all({.layouts = true}, budget_);
    finish(bound);
    return std::move(answer_);
  }

 private:
  const Evaluation* price(const Mapping& mapping) override {
    std::optional<SparseMisfit> misfit;
    priced_ = evaluate_sparse(model_, design_, mapping, misfit);
    if (priced_) return &priced_->evaluation;
    answer_.misfit = std::move(misfit);
    return nullptr;
  }

  void taken() override { answer_.sparse = std::move(priced_); }

  // The bound on the first metric; its mapping is where improvement begins.
  double bound_and_first() {
    const Metric first = incumbent_.objective()[0];
    const SparseBound scaled = sparse_bound(model_, design_, &space_);
    const Model cheap(model_.einsum(), scaled.chip, scaled.options, model_.reuse());
    SearchRules rules = rules_;
    rules.progress = nullptr;
    Optimum least = relaxed(cheap, {first}, kSparseSearchForBound, rules);
    if (least.infeasible) {
      answer_.optimum = std::move(least);
      return 0;
    }
    if (least.mapping && runs(*least.mapping)) offer(*least.mapping);
    // Where dense tiles fit, compressed ones do, and in ever smaller storages their metadata does at last.
    for (const double part : {1.0, 0.5, 0.25, 0.1}) {
      if (part < 1 && incumbent_.mapping()) break;
      const machine::Chip tight = narrowed(part);
      const Space space(model_.einsum(), tight, mapspace_, model_.shape(), {}, budget_);
      if (const auto dense =
              initial_solution(model_, space, incumbent_.objective(), 0, base::Budget(budget_, kSecondsToStart)))
        if (runs(dense->mapping)) offer(dense->mapping);
    }
    const double factor = first == Metric::kEnergy ? 1 : scaled.cycles;
    return least.certificate.lower_bound * factor * (1 - kRounded / 2);
  }

  // The chip with part of the capacities of levels that hold compressed tiles.
  machine::Chip narrowed(double part) const {
    machine::Chip chip = model_.chip();
    for (std::size_t level = 0; level < chip.storages.size(); ++level)
      if (chip_.storages[level].capacity_words != chip.storages[level].capacity_words) {
        chip.storages[level].min_utilization = 0;
        chip.storages[level].capacity_words =
            base::saturated(std::floor(static_cast<double>(*chip.storages[level].capacity_words) * part));
      }
    return chip;
  }

  // The first mapping that fits.
  void find_first() {
    const base::Budget part(budget_, budget_.seconds_left() * kSparseSearchForFirst);
    int tries = 0;
    enumerate(
        model_.einsum(), space_, [&](const Mapping& mapping) { return !offer(mapping) && ++tries < 200'000; }, part);
  }

  void finish(double bound) {
    Optimum& optimum = answer_.optimum;
    const double best = incumbent_.best()[0];
    optimum = answer(answer_.enumerated, bound);
    optimum.interrupted = budget_.interrupted();
    optimum.infeasible = optimum.infeasible && rules_.max_cycles == 0;
    if (optimum.infeasible && answer_.misfit) {
      optimum.arithmetic.push_back("no mapping fits the sparse hardware; of the last one: " + answer_.misfit->text);
      if (!answer_.misfit->arithmetic.empty()) optimum.arithmetic.push_back(answer_.misfit->arithmetic);
    }
    // Within rounding of the bound it is proven, too.
    if (optimum.mapping && !optimum.certificate.optimal && incumbent_.objective().size() == 1)
      optimum.certificate.close(best, bound, kRounded);
  }

  const SparseDesign& design_;
  std::optional<SparseEvaluation> priced_;
  SparseOptimum answer_;
};

}  // namespace

SparseOptimum optimize_sparse(const Model& model, const SparseDesign& design, const Mapspace& mapspace,
                              std::vector<Metric> objective, const SearchLimits& limits) {
  const base::Stopwatch clock;
  const base::Budget budget(limits, limits.searches);
  if (objective.empty()) objective = {Metric::kEdp};
  const machine::Chip roomy_chip = roomy(model.chip(), design);
  const Space space(model.einsum(), roomy_chip, mapspace, model.shape(), {}, budget);
  const SearchRules rules{limits};
  SparseOptimum answer = SparseSearch(model, design, roomy_chip, mapspace, space, objective, rules, budget).run();
  require_countable(model, answer.optimum);
  answer.optimum.certificate.seconds = clock.seconds();
  return answer;
}

}  // namespace orrery::nest
