// Spatial factor vectors are listed by depth-first search, cut off where their product leaves the fan-out. Of einsums
// with many dimensions there may be millions; where they are more than time and memory allow, they are listed again
// from fewer factors of each dimension, spread evenly from the least to the largest.
#include "orrery/engines/nest/space/space.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/factor.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::nest {

using base::Count;

namespace {

constexpr Count kMostFactors = 1 << 14;  // of a dimension, where they need not divide

}  // namespace

bool Space::contains(const std::vector<Count>& sorted, Count value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

Space::Space(const workload::Einsum& einsum, const machine::Chip& chip, const Mapspace& mapspace, const Shape& shape,
             const HardwareLimits& limits, const base::Budget& budget, bool imperfect)
    : levels_(static_cast<int>(chip.storages.size())),
      all_dimensions_(static_cast<int>(einsum.dimensions.size())),
      dataspaces_(static_cast<int>(einsum.dataspaces.size())),
      imperfect_(imperfect),
      relevant_(shape.relevant),
      order_(fixed_orders(mapspace, levels_, all_dimensions_)),
      orders_(levels_) {
  for (int d = 0; d < all_dimensions_; ++d)
    if (einsum.dimensions[d].bound > 1) dimensions_.push_back(d);
  for (int level = 0; level < levels_; ++level) {
    const bool holds = limits.capacity.empty() || limits.capacity[level];
    std::optional<Count> usable = holds ? chip.usable_words(level) : std::nullopt;
    units_.push_back(units_of(einsum, chip.storages[level].word_bits));
    if (usable && __builtin_mul_overflow(*usable, units_[level].word, &*usable)) usable = base::kMostCount;
    capacity_.push_back(usable);
    minimum_use_.push_back(usable ? std::min(*usable, base::saturated(std::ceil(static_cast<double>(*usable) *
                                                                                chip.storages[level].min_utilization)))
                                  : 0);
  }
  allow_factors(einsum, mapspace);
  list_spatial(chip, mapspace, limits, budget);
  if (!imperfect_) list_completable(einsum);
  for (int level = 0; level < levels_; ++level) {
    std::uint32_t must = 0, may = (1u << dataspaces_) - 1;
    for (const Constraint& constraint : mapspace.constraints)
      if (constraint.kind == Constraint::Kind::kKeep && constraint.level == level) {
        if (constraint.keep)
          must |= 1u << constraint.dataspace;
        else
          may &= ~(1u << constraint.dataspace);
      }
    std::vector<std::uint32_t> masks;
    // No mask is left if a dataspace must be both kept and bypassed. A level that keeps nothing is empty.
    if ((must & ~may) == 0)
      for (std::uint32_t mask = may;; mask = (mask - 1) & may) {
        if ((mask & must) == must && (mask != 0 || minimum_use_[level] == 0)) masks.push_back(mask);
        if (mask == 0) break;
      }
    if (masks.empty()) possible_ = false;
    keeps_.push_back(std::move(masks));
  }
  size_ = count(einsum);
}

void Space::allow_factors(const workload::Einsum& einsum, const Mapspace& mapspace) {
  std::vector<std::vector<Count>> all(all_dimensions_);
  for (int d = 0; d < all_dimensions_; ++d) {
    const Count bound = einsum.dimensions[d].bound;
    all[d] = base::divisors(bound);
    if (!imperfect_) continue;
    // Of a dimension too long for a list, small factors and divisors.
    const Count most = std::min(bound, kMostFactors);
    if (most < bound) complete_ = false;
    std::erase_if(all[d], [&](Count factor) { return factor <= most; });
    std::vector<Count> each(static_cast<std::size_t>(most));
    std::iota(each.begin(), each.end(), Count{1});
    all[d].insert(all[d].begin(), each.begin(), each.end());
  }
  for (const auto& divisors : all) divisors_.push_back(static_cast<Count>(divisors.size()));
  temporal_.assign(levels_, all);
  spatial_factors_.assign(levels_, all);
  for (const Constraint& constraint : mapspace.constraints) {
    if (constraint.kind != Constraint::Kind::kFactor) continue;
    auto& allowed = (constraint.spatial ? spatial_factors_ : temporal_)[constraint.level][constraint.dimension];
    std::erase_if(allowed, [&](Count factor) {
      switch (constraint.comparison) {
        case Comparison::kEqual:
          return factor != constraint.value;
        case Comparison::kAtMost:
          return factor > constraint.value;
        case Comparison::kAtLeast:
          return factor < constraint.value;
      }
      return false;
    });
  }
}

namespace {

// At most `most` of them, the first and the last among them.
std::vector<Count> thinned(const std::vector<Count>& factors, std::size_t most) {
  if (factors.size() <= most) return factors;
  std::vector<Count> kept;
  for (std::size_t k = 0; k < most; ++k) kept.push_back(factors[k * (factors.size() - 1) / (most - 1)]);
  return kept;
}

}  // namespace

void Space::list_spatial(const machine::Chip& chip, const Mapspace& mapspace, const HardwareLimits& limits,
                         const base::Budget& budget) {
  // Searches keep several times as much for each vector. Half of the time is left for them.
  double room = std::min(budget.room() / 10 / static_cast<double>(sizeof(SpatialChoice)), 1e9);
  const base::Budget half(budget, budget.seconds_left() / 2);
  base::Ticker clock(half, 4096);
  std::vector<std::vector<SpatialChoice>> listed(levels_);
  for (int level = 0; level < levels_; ++level) {
    const bool holds = limits.fanout.empty() || limits.fanout[level];
    const Count huge = std::numeric_limits<Count>::max();
    const Count fanout_x = holds ? chip.fanout_x(level) : huge;
    const Count fanout_y = holds ? chip.fanout_y(level) : huge;
    fanout_.emplace_back(fanout_x, fanout_y);
    const double room_here = static_cast<double>(chip.fanout_x(level)) * static_cast<double>(chip.fanout_y(level));
    double least = 0;
    for (const Constraint& constraint : mapspace.constraints)
      if (constraint.kind == Constraint::Kind::kMinParallelism && constraint.level == level)
        least = std::max(least, constraint.fraction * room_here);

    const std::size_t most_choices = static_cast<std::size_t>(std::max(room, 1000.0));
    std::vector<SpatialChoice>& choices = listed[level];
    std::vector<std::vector<Count>> factors = spatial_factors_[level];
    bool cut_off = false, hurried = true;
    SpatialChoice choice;
    choice.factor.fill(1);
    const std::function<void(int)> extend = [&](int d) {
      if (cut_off || (cut_off = hurried && clock.spent())) return;
      if (d == all_dimensions_) {
        if (static_cast<double>(choice.product) < least) return;
        std::uint32_t iterating = 0;
        for (int k = 0; k < all_dimensions_; ++k)
          if (choice.factor[k] > 1) iterating |= 1u << k;
        const Count* factor = choice.factor.data();
        const auto to_x = mapspace.parts
                              ? lay_out(*mapspace.parts, level, factor, fanout_x, fanout_y)
                              : lay_out(order_.spatial[level], all_dimensions_, iterating, factor, fanout_x, fanout_y);
        if (!to_x) return;
        choice.to_x = *to_x;
        choices.push_back(choice);
        cut_off = choices.size() > most_choices;
        return;
      }
      const Count before = choice.product;
      for (const Count factor : factors[d]) {
        const __int128 product = static_cast<__int128>(before) * factor;
        if (holds && product > static_cast<__int128>(fanout_x) * fanout_y) break;
        if (product > huge) break;
        choice.factor[d] = factor;
        choice.product = static_cast<Count>(product);
        extend(d + 1);
      }
      choice.factor[d] = 1;
      choice.product = before;
    };
    extend(0);
    for (const std::size_t most : {16, 8, 5, 3, 2}) {
      if (!cut_off) break;
      complete_ = cut_off = false;
      hurried = most > 2;
      choices.clear();
      choice.factor.fill(1);
      choice.product = 1;
      for (int d = 0; d < all_dimensions_; ++d) {
        std::vector<Count> fitting = spatial_factors_[level][d];
        if (holds)
          std::erase_if(fitting, [&](Count factor) {
            return static_cast<__int128>(factor) > static_cast<__int128>(fanout_x) * fanout_y;
          });
        factors[d] = thinned(fitting, most);
      }
      extend(0);
    }
    if (cut_off) complete_ = false;
    if (choices.empty()) possible_ = false;
    room -= static_cast<double>(choices.size());
    // Wide layouts first: they start most searches near the optimum.
    std::stable_sort(choices.begin(), choices.end(),
                     [](const SpatialChoice& a, const SpatialChoice& b) { return a.product > b.product; });
    // Only factors that some whole vector uses remain for the per-dimension tables.
    for (int d = 0; d < all_dimensions_; ++d) {
      std::vector<Count> used;
      for (const SpatialChoice& kept : choices) used.push_back(kept.factor[d]);
      std::sort(used.begin(), used.end());
      used.erase(std::unique(used.begin(), used.end()), used.end());
      spatial_factors_[level][d] = std::move(used);
    }
  }
  spatial_ = std::make_shared<const std::vector<std::vector<SpatialChoice>>>(std::move(listed));
}

void Space::list_completable(const workload::Einsum& einsum) {
  inside_spatial_.assign(levels_, std::vector<std::vector<Count>>(all_dimensions_));
  for (int d = 0; d < all_dimensions_; ++d) {
    const Count bound = einsum.dimensions[d].bound;
    std::vector<Count> reachable{1};
    const auto extend = [&](const std::vector<Count>& factors) {
      std::set<Count> next;
      for (const Count have : reachable)
        for (const Count factor : factors)
          if (bound % have == 0 && (bound / have) % factor == 0) next.insert(have * factor);
      reachable.assign(next.begin(), next.end());
    };
    for (int level = 0; level < levels_; ++level) {
      inside_spatial_[level][d] = reachable;
      extend(spatial_factors_[level][d]);
      extend(temporal_[level][d]);
    }
    if (!contains(reachable, bound)) possible_ = false;
  }
}

bool Space::order_is_free(int level) const {
  return std::none_of(dimensions_.begin(), dimensions_.end(),
                      [&](int d) { return order_.temporal[level].place_of(d, all_dimensions_) >= 0; });
}

bool Space::loops_free(int level) const {
  return order_is_free(level) && std::all_of(dimensions_.begin(), dimensions_.end(), [&](int d) {
           return static_cast<Count>(temporal_[level][d].size()) == divisors_[d];
         });
}

bool Space::may_not_loop(int level) const {
  return std::all_of(dimensions_.begin(), dimensions_.end(), [&](int d) { return contains(temporal_[level][d], 1); });
}

double Space::perfect_factorisations(int dimension, Count bound) const {
  std::map<Count, double> ways{{1, 1.0}};
  const auto extend = [&](const std::vector<Count>& factors) {
    std::map<Count, double> next;
    for (const auto& [have, times] : ways)
      for (const Count factor : factors)
        if ((bound / have) % factor == 0) next[have * factor] += times;
    ways = std::move(next);
  };
  for (int level = 0; level < levels_; ++level) {
    extend(spatial_factors_[level][dimension]);
    extend(temporal_[level][dimension]);
  }
  return ways.contains(bound) ? ways[bound] : 0;
}

// The outermost loop takes ceil(bound / what those inside it multiply to) iterations, the others any.
double Space::imperfect_factorisations(int dimension, Count bound) const {
  std::vector<const std::vector<Count>*> blocks;
  for (int level = 0; level < levels_; ++level) {
    blocks.push_back(&spatial_factors_[level][dimension]);
    blocks.push_back(&temporal_[level][dimension]);
  }
  // Of the blocks outside each, whether none need iterate.
  std::vector<bool> idle(blocks.size() + 1, true);
  for (std::size_t k = blocks.size(); k-- > 0;) idle[k] = idle[k + 1] && contains(*blocks[k], 1);
  if (bound == 1) return idle[0] ? 1 : 0;
  const auto most = static_cast<std::size_t>(std::min(bound, kMostFactors));
  std::vector<double> ways(most, 0);
  ways[1] = 1;
  double all = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    std::vector<double> next(most, 0);
    for (std::size_t have = 1; have < most; ++have) {
      if (ways[have] == 0) continue;
      const Count inside = static_cast<Count>(have);
      if (idle[k + 1] && contains(*blocks[k], (bound + inside - 1) / inside)) all += ways[have];
      for (const Count factor : *blocks[k]) {
        if (inside * factor >= static_cast<Count>(most)) break;
        next[static_cast<std::size_t>(inside * factor)] += ways[have];
      }
    }
    ways = std::move(next);
  }
  return all;
}

double Space::count(const workload::Einsum& einsum) const {
  double total = 1;
  for (int d = 0; d < all_dimensions_; ++d) {
    const Count bound = einsum.dimensions[d].bound;
    total *= imperfect_ ? imperfect_factorisations(d, bound) : perfect_factorisations(d, bound);
  }
  for (int level = 0; level < levels_; ++level) {
    int free = 0;
    for (const int d : dimensions_) {
      const bool iterates =
          temporal_[level][d].size() > 1 || (temporal_[level][d].size() == 1 && temporal_[level][d][0] > 1);
      if (iterates && order_.temporal[level].place_of(d, all_dimensions_) < 0) ++free;
    }
    total *= std::tgamma(free + 1) * static_cast<double>(keeps_[level].size());
  }
  return total;
}

namespace {

// Every order of `iterating` that the fixed inner and outer parts allow, cut off as soon as no dataspace's
// run can still change, with duplicates and contained runs removed.
struct OrderLister {
  const std::vector<std::uint32_t>& relevant;
  int dataspaces;
  std::vector<int> inner, outer;  // iterating dimensions only
  std::uint32_t free = 0;
  std::vector<OrderChoice> found;
  OrderChoice current;
  // With many free dimensions: the runs so far. Orders that placed the same loops with the same runs continue alike.
  std::set<std::array<std::uint32_t, kMaxDataspaces + 1>> reached;
  bool many = false;

  void extend(std::size_t fixed, std::uint32_t unplaced, std::uint32_t placed, std::uint32_t closing) {
    if (many) {
      std::array<std::uint32_t, kMaxDataspaces + 1> state;
      std::copy(current.run.begin(), current.run.end(), state.begin());
      state.back() = placed;
      if (!reached.insert(state).second) return;
    }
    if (closing == 0) {
      found.push_back(current);
      return;
    }
    const auto place = [&](int d, std::size_t next_fixed, std::uint32_t next_unplaced) {
      std::uint32_t still = closing;
      const OrderChoice saved = current;
      for (int s = 0; s < dataspaces; ++s)
        if ((closing >> s & 1) && (relevant[s] >> d & 1)) {
          current.run[s] = placed;
          still &= ~(1u << s);
        }
      current.order.push_back(d);
      extend(next_fixed, next_unplaced, placed | 1u << d, still);
      current = saved;
    };
    if (fixed < inner.size()) return place(inner[fixed], fixed + 1, unplaced);
    if (unplaced != 0) {
      for (std::uint32_t rest = unplaced; rest != 0; rest &= rest - 1) {
        const int d = __builtin_ctz(rest);
        place(d, fixed, unplaced & ~(1u << d));
      }
      return;
    }
    place(outer[fixed - inner.size()], fixed + 1, 0);
  }
};

}  // namespace

const std::vector<OrderChoice>& Space::orders(int level, std::uint32_t iterating) const {
  const auto [slot, fresh] = orders_[level].try_emplace(iterating);
  if (!fresh) return slot->second;
  OrderLister lister{relevant_, dataspaces_, {}, {}, iterating, {}, {}, {}, false};
  for (const int d : order_.temporal[level].inner)
    if (iterating >> d & 1) lister.inner.push_back(d), lister.free &= ~(1u << d);
  for (const int d : order_.temporal[level].outer)
    if (iterating >> d & 1) lister.outer.push_back(d), lister.free &= ~(1u << d);
  std::uint32_t closing = 0;
  lister.current.run.fill(iterating);
  for (int s = 0; s < dataspaces_; ++s) (relevant_[s] & iterating ? closing : lister.current.open) |= 1u << s;
  // The innermost level's order moves nothing: the compute units read every operand every cycle.
  if (level == 0) closing = 0;
  lister.many = __builtin_popcount(lister.free) > 5;
  lister.extend(0, lister.free, 0, closing);

  std::vector<OrderChoice>& kept = slot->second;
  const auto contained = [&](const OrderChoice& a, const OrderChoice& b) {
    for (int s = 0; s < dataspaces_; ++s)
      if ((a.run[s] & ~b.run[s]) != 0) return false;
    return true;
  };
  for (const OrderChoice& candidate : lister.found) {
    if (std::any_of(kept.begin(), kept.end(), [&](const OrderChoice& other) { return contained(candidate, other); }))
      continue;
    std::erase_if(kept, [&](const OrderChoice& other) { return contained(other, candidate); });
    kept.push_back(candidate);
  }
  return kept;
}

std::vector<int> Space::full_temporal_order(int level, const std::vector<int>& iterating) const {
  const FixedOrder& order = order_.temporal[level];
  std::vector<int> full = order.inner;
  const auto fixed = [&](int d) { return order.place_of(d, all_dimensions_) >= 0; };
  for (const int d : iterating)
    if (!fixed(d)) full.push_back(d);
  for (int d = 0; d < all_dimensions_; ++d)
    if (!fixed(d) && std::find(full.begin(), full.end(), d) == full.end()) full.push_back(d);
  full.insert(full.end(), order.outer.begin(), order.outer.end());
  return full;
}

std::pair<std::vector<int>, int> Space::full_spatial_order(int level, std::uint32_t iterating,
                                                           std::uint32_t to_x) const {
  return full_order(order_.spatial[level], all_dimensions_, iterating, to_x);
}

std::vector<Layout> Space::layouts(int level, const Count* factor) const {
  return nest::layouts(order_.spatial[level], all_dimensions_, factor, fanout_[level].first, fanout_[level].second);
}

}  // namespace orrery::nest
