// Nests whose factors leave a remainder, counted the slow way: every point, every step, every instance. Test-only.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"

namespace orrery::nest::testing {

class ImperfectSimulation {
 public:
  using Count = base::Count;
  using Digits = std::vector<Count>;  // S_0, T_0, S_1, ... of one dimension
  using Instance = std::vector<Digits>;
  using Box = std::set<std::vector<Count>>;

  ImperfectSimulation(const workload::Einsum& einsum, const Mapping& mapping) : einsum_(einsum), mapping_(mapping) {
    for (std::size_t d = 0; d < dimensions(); ++d) {
      points_.emplace_back();
      for (Count point = 0; point < einsum.dimensions[d].bound; ++point) {
        Digits digits;
        Count rest = point;
        for (const Factor& factor : factors_of(mapping, static_cast<int>(d))) {
          digits.push_back(rest % factor.iterations);
          rest /= factor.iterations;
        }
        points_.back().push_back(digits);
      }
    }
  }

  // Steps at which anything works.
  Count steps() const { return static_cast<Count>(times(-1).size()); }
  // Instances of `level` (-1: compute units) that ever work.
  std::vector<Instance> instances(int level) const {
    std::vector<Instance> found{{}};
    for (std::size_t d = 0; d < dimensions(); ++d) {
      std::set<Digits> places;
      for (const Digits& digits : points_[d]) places.insert(fan_outs(digits, level));
      std::vector<Instance> longer;
      for (const Instance& before : found)
        for (const Digits& place : places) {
          longer.push_back(before);
          longer.back().push_back(place);
        }
      found = std::move(longer);
    }
    return found;
  }

  // Words that instances of `keeper` (-1: compute units) are brought, by instance of `server` at or outside it: those
  // that want the same at the same step are served once, but for the fan-outs `alone`.
  std::map<Instance, Count> brought(int s, int keeper, int server, bool every_step, std::uint32_t alone = 0) const {
    const std::vector<Instance> all = instances(keeper);
    std::vector<Box> held(all.size());
    std::map<Instance, Count> words;
    for (const std::vector<Digits>& time : times(keeper)) {
      std::set<std::pair<std::pair<Instance, Instance>, Box>> wishes;
      for (std::size_t k = 0; k < all.size(); ++k) {
        bool idle = false, empty = false;
        std::vector<std::vector<Count>> here(dimensions());
        for (std::size_t d = 0; d < dimensions(); ++d) {
          for (std::size_t p = 0; p < points_[d].size(); ++p)
            if (fan_outs(points_[d][p], keeper) == all[k][d] && temporal(points_[d][p], keeper) == time[d])
              here[d].push_back(static_cast<Count>(p));
          if (here[d].empty()) (einsum_.relevant(s, static_cast<int>(d)) ? empty : idle) = true;
        }
        if (idle) continue;
        Box box;
        if (!empty) box = image(s, here);
        if (!box.empty() && (every_step || box != held[k]))
          wishes.insert({{outside(all[k], keeper, server), apart(all[k], keeper, alone)}, box});
        held[k] = std::move(box);
      }
      for (const auto& [who, box] : wishes) words[who.first] += static_cast<Count>(box.size());
    }
    return words;
  }

  // Different words that each instance of `level` sees.
  std::map<Instance, Count> seen(int s, int level) const {
    std::map<Instance, Count> words;
    for (const Instance& instance : instances(level)) {
      std::vector<std::vector<Count>> here(dimensions());
      for (std::size_t d = 0; d < dimensions(); ++d)
        for (std::size_t p = 0; p < points_[d].size(); ++p)
          if (fan_outs(points_[d][p], level) == instance[d]) here[d].push_back(static_cast<Count>(p));
      words[instance] = static_cast<Count>(image(s, here).size());
    }
    return words;
  }

 private:
  std::size_t dimensions() const { return einsum_.dimensions.size(); }
  static Digits fan_outs(const Digits& digits, int level) {
    Digits result;
    for (std::size_t k = 2 * static_cast<std::size_t>(level + 1); k < digits.size(); k += 2)
      result.push_back(digits[k]);
    return result;
  }
  static Digits temporal(const Digits& digits, int level) {
    Digits result;
    for (std::size_t k = 2 * static_cast<std::size_t>(level + 1) + 1; k < digits.size(); k += 2)
      result.push_back(digits[k]);
    return result;
  }
  // The instance of `server` that an instance of `keeper` stands below.
  static Instance outside(const Instance& instance, int keeper, int server) {
    Instance result;
    for (const Digits& digits : instance) result.emplace_back(digits.begin() + (server - keeper), digits.end());
    return result;
  }
  static Instance apart(const Instance& instance, int keeper, std::uint32_t alone) {
    Instance result;
    for (const Digits& digits : instance) {
      result.emplace_back();
      for (std::size_t k = 0; k < digits.size(); ++k)
        if (alone >> (static_cast<std::size_t>(keeper + 1) + k) & 1) result.back().push_back(digits[k]);
    }
    return result;
  }

  // Digits in time outside `level`, by dimension, in the order in which they pass.
  std::vector<std::vector<Digits>> times(int level) const {
    std::vector<std::vector<Digits>> found{{}};
    for (std::size_t d = 0; d < dimensions(); ++d) {
      std::set<Digits> here;
      for (const Digits& digits : points_[d]) here.insert(temporal(digits, level));
      std::vector<std::vector<Digits>> longer;
      for (const auto& before : found)
        for (const Digits& digits : here) {
          longer.push_back(before);
          longer.back().push_back(digits);
        }
      found = std::move(longer);
    }
    const auto key = [&](const std::vector<Digits>& time) {
      Digits ordered;
      for (int i = static_cast<int>(mapping_.levels.size()) - 1; i > level; --i)
        for (auto d = mapping_.levels[i].temporal_order.rbegin(); d != mapping_.levels[i].temporal_order.rend(); ++d)
          ordered.push_back(time[*d][i - level - 1]);
      return ordered;
    };
    std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    return found;
  }

  Box image(int s, const std::vector<std::vector<Count>>& points) const {
    std::vector<std::vector<Count>> words{{}};
    for (const workload::Rank& rank : einsum_.dataspaces[s].ranks) {
      std::set<Count> along{0};
      for (const workload::Term& term : rank.terms) {
        std::set<Count> longer;
        for (const Count at : along)
          for (const Count point : points[term.dimension]) longer.insert(at + term.coefficient * point);
        along = std::move(longer);
      }
      std::vector<std::vector<Count>> longer;
      for (const auto& before : words)
        for (const Count at : along) {
          longer.push_back(before);
          longer.back().push_back(at);
        }
      words = std::move(longer);
    }
    return {words.begin(), words.end()};
  }

  const workload::Einsum& einsum_;
  const Mapping& mapping_;
  std::vector<std::vector<Digits>> points_;  // [dimension][point]
};

// Any bounds, split anyhow: each loop takes some iterations of what the loops inside it leave, rounded up.
inline Mapping random_imperfect_mapping(Dice& dice, const workload::Einsum& einsum, int storages, bool keep_all,
                                        base::Count largest_fanout = 6) {
  workload::Einsum ones = einsum;
  for (workload::Dimension& dimension : ones.dimensions) dimension.bound = 1;
  Mapping mapping = random_mapping(dice, ones, storages, keep_all);
  std::vector<base::Count> fanout(storages, 1), bounds;
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    base::Count rest = einsum.dimensions[d].bound;
    bounds.push_back(rest);
    for (int i = 0; i < storages; ++i) {
      if (dice.once_in(2)) {
        const base::Count most = std::min(rest, largest_fanout / fanout[i]);
        const base::Count factor = dice(1, std::max<base::Count>(1, most));
        mapping.levels[i].spatial[d] = factor;
        fanout[i] *= factor;
        rest = (rest + factor - 1) / factor;
      }
      const base::Count factor = i + 1 == storages ? rest
                                 : dice.once_in(2) ? dice(1, std::min<base::Count>(rest, 4))
                                                   : 1;
      mapping.levels[i].temporal[d] = factor;
      rest = (rest + factor - 1) / factor;
    }
  }
  ORRERY_CHECK(complete(mapping, bounds), "each outermost loop takes what is left");
  return mapping;
}

}  // namespace orrery::nest::testing
