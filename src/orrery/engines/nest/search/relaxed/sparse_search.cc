// Savings depend on the tiles that meet, so that the sparse cost is no function of the dense one, and the bounds of the
// dense searches do not hold for it. What bounds it is a factor. Of the accesses to a tensor at least the share d (its
// density, where a format leaves zeros out) times the product of its leaders' densities (a leader's tile is empty no
// more often than one word of it is zero) is left wherever a unit may act on them; what is gated passes the ports all
// the same. Of the operations that of the leaders is left, and where compute units or formats leave zeros out, that of
// all operands. So the dense optimum on a chip with prices, ports and cycles scaled by these bounds every mapping; a
// storage's prices by the least factor of what it may keep, and each word that must cross there once more by what its
// own factor is above that. Metadata is free; where anything is sparse, blocks are counted in parts.
//
// Beside that dense optimum, quick mappings whose tiles fit dense are where improvement begins. Tensors whose tiles
// take longer to count leave room to enumerate smaller spaces only.
#include "orrery/engines/nest/search/relaxed/sparse_search.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/model/touched.h"
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

// What sums in another order may differ by, at most.
constexpr double kRounded = 2e-9;

double leaders_left(const SparseDesign& design, const Follower& follower) {
  double left = 1;
  for (const int leader : follower.leaders) left *= design.densities[static_cast<std::size_t>(leader)].share();
  return left;
}

// The least share of its accesses that savings leave of dataspace s.
double least_saved(const SparseDesign& design, int s) {
  double left = 1;
  for (const SparseStorage& storage : design.storages)
    for (const AccessSaving& unit : storage.savings)
      for (const Follower& option : unit.options)
        if (option.target == s) left = std::min(left, leaders_left(design, option));
  return left;
}

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
    answer_.enumerated = enumerate_all(effort, ~std::uint64_t{0});
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

SparseBound sparse_bound(const Model& model, const SparseDesign& design, const Space* space) {
  SparseBound bound{roomy(model.chip(), design), model.options(), 1};
  // Of dense tensors every word is moved, in whole blocks: only metadata is added.
  for (const Density& density : design.densities)
    if (!density.dense()) bound.options.fractional_blocks = true;
  const auto& dataspaces = model.einsum().dataspaces;
  const int levels = static_cast<int>(design.storages.size());
  // Who may be kept at a level, and who must.
  std::vector<std::uint32_t> may(design.storages.size(), ~0u), must(design.storages.size(), 0);
  for (int level = 0; space != nullptr && level < levels; ++level) {
    const std::size_t l = static_cast<std::size_t>(level);
    may[l] = 0, must[l] = ~0u;
    for (const std::uint32_t keep : space->keeps(level)) may[l] |= keep, must[l] &= keep;
  }
  // Zeros of s are left out at a level with a format; and where the next keeper outside has one, empty tiles are.
  const auto represented = [&](int level, int s) {
    const double share = design.densities[static_cast<std::size_t>(s)].share();
    for (int outer = level; outer < levels; ++outer) {
      if (design.storages[static_cast<std::size_t>(outer)].format(s) != nullptr) return share;
      if (outer > level && must[static_cast<std::size_t>(outer)] >> s & 1) break;
    }
    return 1.0;
  };

  // What savings leave of the accesses to s at a level: a unit at a storage acts at the next one outwards that keeps
  // its target. Outside of a level it saves what never gets there; at the level itself, the time only where it skips.
  struct Left {
    double energy = 1, time = 1;
  };
  const auto left_at = [&](int level, int s) {
    Left left;
    for (int at = 0; at < levels; ++at) {
      bool passes = true;  // the unit may act at the level
      for (int inner = at; inner < level; ++inner) passes = passes && !(must[static_cast<std::size_t>(inner)] >> s & 1);
      for (const AccessSaving& unit : design.storages[static_cast<std::size_t>(at)].savings)
        for (const Follower& option : unit.options) {
          if (option.target != s || !passes) continue;
          const double share = leaders_left(design, option);
          left.energy = std::min(left.energy, share);
          if (unit.skips || at > level) left.time = std::min(left.time, share);
        }
    }
    return left;
  };

  double saved = 1, nonzero = 1;
  bool all_know = true, any_knows = false;
  for (std::size_t s = 0; s < dataspaces.size(); ++s) {
    if (dataspaces[s].read_write) continue;
    saved *= least_saved(design, static_cast<int>(s));
    nonzero *= design.densities[s].share();
    bool knows = false;
    for (const SparseStorage& storage : design.storages)
      knows = knows || storage.format(static_cast<int>(s)) != nullptr;
    all_know = all_know && knows;
    any_knows = any_knows || knows;
  }
  const bool skips = all_know || (design.aligns_compute && any_knows);
  const double operations_left = saved * (skips || design.gates_compute ? nonzero : 1);
  const double time_left = saved * (skips ? nonzero : 1);
  bound.cycles = time_left;
  if (time_left < 1) {
    // A port that binds on the scaled chip is rounded up to a whole cycle there, and takes more than the compute units.
    const double least = std::ceil(static_cast<double>(model.einsum().operations()) /
                                   static_cast<double>(model.chip().compute.instances));
    bound.cycles *= least / (least + 1);
  }
  double certain = 0;  // pJ beyond the least shares
  for (int level = 0; level < levels; ++level) {
    machine::Storage& storage = bound.chip.storages[static_cast<std::size_t>(level)];
    double any = 1, reads = 1, held = 1, written = 1, read = 1;  // of energy, and of what ports pass
    for (int s = 0; s < static_cast<int>(dataspaces.size()); ++s) {
      if (!(may[static_cast<std::size_t>(level)] >> s & 1)) continue;
      const Left left = left_at(level, s);
      const double kept = represented(level, s);
      // Reads of outputs that are saved are rounded down, so that nothing is sure to be left of them.
      const auto rounded = [&](double share) {
        return dataspaces[static_cast<std::size_t>(s)].read_write && share < 1 ? 0 : kept * share;
      };
      any = std::min(any, kept * left.energy);
      written = std::min(written, kept * left.time);
      reads = std::min(reads, rounded(left.energy));
      read = std::min(read, rounded(left.time));
      held = std::min(held, kept);
    }
    // Every word of what must be kept here crosses at least once, at its own share.
    const bool outermost = level + 1 == levels;
    for (int s = 0; storage.cluster_size <= 1 && s < static_cast<int>(dataspaces.size()); ++s) {
      if (!(must[static_cast<std::size_t>(level)] & must.back() & may[static_cast<std::size_t>(level)] & 1u << s))
        continue;
      const double left = represented(level, s) * left_at(level, s).energy;
      const double words = touched_words(model.einsum(), s) / static_cast<double>(storage.block_size);
      if (dataspaces[static_cast<std::size_t>(s)].read_write)
        certain += words * (left - any) * storage.energy.update_pj;
      else
        certain +=
            words * ((left - reads) * storage.energy.read_pj + (outermost ? 0 : left - any) * storage.energy.write_pj);
    }
    storage.energy.read_pj *= reads;
    storage.energy.write_pj *= any;
    storage.energy.update_pj *= any;
    storage.energy.leak_pj_per_cycle *= held * bound.cycles;
    const auto widen = [&](std::optional<double>& words_per_cycle, double left) {
      if (left <= 0)
        words_per_cycle.reset();
      else if (words_per_cycle)
        *words_per_cycle *= time_left / left;
    };
    widen(storage.read_words_per_cycle, read);
    widen(storage.write_words_per_cycle, written);
    widen(storage.shared_words_per_cycle, std::min(read, written));
  }
  bound.chip.compute.compute_pj *= operations_left;
  bound.chip.compute.compute_pj += certain / static_cast<double>(model.einsum().operations());
  bound.chip.compute.leak_pj_per_cycle *= bound.cycles;
  return bound;
}

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
