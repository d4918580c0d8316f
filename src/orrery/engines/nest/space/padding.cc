// A dimension of B iterations is laid out in factors whose product is B' >= B. If B' >= 2 B, some factor f can be made
// one smaller and the product still covers B, at no greater cost; so sizes below 2 B are enough. Which of these divide
// well depends on the arrays and on the tiles: multiples of what arrays are wide, and of powers of two.
//
// Combinations are visited by their number of operations, the einsum's own first. Each is searched for mappings that
// beat the best so far, so that most end at the first bounds; once the operations alone cost more than the best, so do
// all that follow.
#include "orrery/engines/nest/space/padding.h"

#include <algorithm>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/initial_solution.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr Count kAwkward = 11, kFew = 16;  // a prime from here on, and less than this beside it
constexpr std::size_t kMostCombinations = 100'000;

// Operations, each computed once, as many at a time as there are units.
Key lower_bound_of(const Model& model, const std::vector<Metric>& objective, double operations) {
  const machine::Compute& compute = model.chip().compute;
  return key_of(objective, operations * compute.compute_pj,
                std::max(1.0, operations / static_cast<double>(std::max<Count>(1, compute.instances))));
}

struct Combination {
  double operations = 1;
  std::vector<Count> size;  // by dimension
};

// All of them, or the first so many of each dimension's where they are more than there is room for.
std::vector<Combination> combinations(const std::vector<std::vector<Count>>& sizes, bool& complete) {
  std::vector<Combination> listed{{}};
  for (const std::vector<Count>& of_dimension : sizes) {
    std::vector<Combination> longer;
    for (const Combination& one : listed)
      for (const Count size : of_dimension) {
        if (longer.size() >= kMostCombinations) {
          complete = false;
          break;
        }
        Combination next = one;
        next.operations *= static_cast<double>(size);
        next.size.push_back(size);
        longer.push_back(std::move(next));
      }
    listed = std::move(longer);
  }
  std::stable_sort(listed.begin(), listed.end(),
                   [](const Combination& a, const Combination& b) { return a.operations < b.operations; });
  return listed;
}

std::vector<std::vector<Count>> sizes_of(const Model& model, const std::vector<int>& only) {
  std::vector<std::vector<Count>> sizes;
  for (std::size_t d = 0; d < model.einsum().dimensions.size(); ++d) {
    const Count bound = model.einsum().dimensions[d].bound;
    const bool may = only.empty() || std::find(only.begin(), only.end(), static_cast<int>(d)) != only.end();
    sizes.push_back(may ? padded_sizes(bound, model.chip()) : std::vector<Count>{bound});
  }
  return sizes;
}

workload::Einsum with_sizes(workload::Einsum einsum, const std::vector<Count>& sizes) {
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) einsum.dimensions[d].bound = sizes[d];
  return einsum;
}

std::vector<Rounding> roundings(const workload::Einsum& before, const workload::Einsum& after) {
  std::vector<Rounding> found;
  for (std::size_t d = 0; d < before.dimensions.size(); ++d) {
    const Count from = before.dimensions[d].bound, to = after.dimensions[d].bound;
    if (to > from) found.push_back({static_cast<int>(d), from, to});
  }
  return found;
}

void add(const base::Certificate& part, base::Certificate& sum) {
  sum.space += part.space;
  sum.evaluated += part.evaluated;
  for (const base::Pruned& pruned : part.pruned) {
    const auto same = std::find_if(sum.pruned.begin(), sum.pruned.end(),
                                   [&](const base::Pruned& other) { return other.argument == pruned.argument; });
    if (same == sum.pruned.end())
      sum.pruned.push_back(pruned);
    else
      same->count += pruned.count;
  }
}

}  // namespace

std::vector<Count> padded_sizes(Count bound, const machine::Chip& chip) {
  std::vector<Count> multiples;
  for (Count power = 2; power <= bound; power *= 2) multiples.push_back(power);
  for (std::size_t level = 0; level < chip.storages.size(); ++level)
    for (const Count side : {chip.fanout_x(static_cast<int>(level)), chip.fanout_y(static_cast<int>(level))})
      for (const Count divisor : base::divisors(side)) multiples.push_back(divisor);
  std::vector<Count> sizes{bound};
  for (const Count multiple : multiples) {
    const Count size = (bound + multiple - 1) / multiple * multiple;
    if (size / 2 < bound) sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<int> awkward_dimensions(const workload::Einsum& einsum) {
  std::vector<int> found;
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    const Count bound = einsum.dimensions[d].bound;
    if (bound == 1) continue;
    const Count largest = base::prime_factors(bound).back().first;
    if (largest >= kAwkward && bound / largest < kFew) found.push_back(static_cast<int>(d));
  }
  return found;
}

PaddedOptimum optimize_padded(const Model& model, const Mapspace& space, const std::vector<Metric>& objective,
                              const SearchLimits& limits, const std::vector<int>& only, const Optimum* known) {
  const base::Stopwatch clock;
  SearchRules rules{limits};
  PaddedOptimum best;
  best.einsum = model.einsum();
  best.optimum = known ? *known : optimize(model, space, objective, rules);
  best.sizes = 1;
  rules.progress = nullptr;  // what follows bounds other values
  if (best.optimum.mapping) best.unrounded = best.optimum.evaluation;
  if (best.optimum.interrupted || (limits.give_way && best.optimum.out_of_memory)) return best;

  base::Certificate certificate = best.optimum.certificate;
  bool finished = true;  // of the combinations after the first
  double least = certificate.lower_bound;
  const bool first_settled = certificate.optimal || best.optimum.infeasible;
  const std::vector<Combination> listed = combinations(sizes_of(model, only), finished);
  if (!finished) least = std::min(least, lower_bound_of(model, objective, listed[0].operations)[0]);
  for (std::size_t k = 1; k < listed.size(); ++k) {
    const Combination& next = listed[k];
    const Key floor = lower_bound_of(model, objective, next.operations);
    const bool found = best.optimum.mapping.has_value();
    if (found && compare(floor, key_of(objective, best.optimum.evaluation), objective.size()) >= 0) {
      best.sizes += listed.size() - k;
      break;
    }
    if (limits.seconds > 0) {
      rules.seconds = limits.seconds - clock.seconds();
      if (rules.seconds <= 0) {
        finished = false;
        least = std::min(least, floor[0]);
        break;
      }
    }
    workload::Einsum einsum = with_sizes(model.einsum(), next.size);
    const Evaluation beat = best.optimum.evaluation;
    rules.beat = found ? &beat : nullptr;
    const Model rounded(einsum, model.chip(), model.options(), model.reuse());
    Optimum optimum = optimize(rounded, space, objective, rules);
    ++best.sizes;
    add(optimum.certificate, certificate);
    best.optimum.interrupted |= optimum.interrupted;
    best.optimum.out_of_memory |= optimum.out_of_memory;
    if (!optimum.certificate.optimal && !optimum.infeasible) {
      finished = false;
      least = std::min(least, optimum.certificate.lower_bound);
    }
    const bool better = optimum.mapping && (!found || compare(key_of(objective, optimum.evaluation),
                                                              key_of(objective, beat), objective.size()) < 0);
    if (better) {
      optimum.interrupted |= best.optimum.interrupted;
      optimum.out_of_memory |= best.optimum.out_of_memory;
      best.optimum = std::move(optimum);
      best.einsum = std::move(einsum);
    }
    if (best.optimum.interrupted || (limits.give_way && best.optimum.out_of_memory)) {
      finished = false;
      least = std::min(least, floor[0]);
      break;
    }
  }
  best.rounded = roundings(model.einsum(), best.einsum);
  certificate.optimal = first_settled && finished && best.optimum.mapping;
  if (best.optimum.mapping) {
    best.optimum.infeasible = false;
    const double value = key_of(objective, best.optimum.evaluation)[0];
    certificate.close(value, certificate.optimal ? value : std::min(value, least));
  }
  certificate.seconds = clock.seconds();
  best.optimum.certificate = std::move(certificate);
  return best;
}

std::optional<RoundingGlance> glance_at_padding(const Model& model, const Mapspace& space,
                                                const std::vector<Metric>& objective, const std::vector<int>& only,
                                                const Evaluation& known, std::size_t most) {
  std::optional<RoundingGlance> best;
  Key least = key_of(objective, known);
  bool complete = true;
  const std::vector<Combination> listed = combinations(sizes_of(model, only), complete);
  for (std::size_t k = 1; k < std::min(listed.size(), most + 1); ++k) {
    if (compare(lower_bound_of(model, objective, listed[k].operations), least, objective.size()) >= 0) break;
    const Model rounded(with_sizes(model.einsum(), listed[k].size), model.chip(), model.options(), model.reuse());
    const Space sizes(rounded.einsum(), rounded.chip(), space, rounded.shape());
    auto found = initial_solution(rounded, sizes, objective, 0, {});
    if (!found || compare(found->key, least, objective.size()) >= 0) continue;
    least = found->key;
    best = RoundingGlance{roundings(model.einsum(), rounded.einsum()), std::move(found->evaluation)};
  }
  return best;
}

}  // namespace orrery::nest
