// Counts traffic the slow way: every iteration, every instance, tiles as explicit sets of points. Test-only.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"

namespace orrery::nest::testing {

class Simulation {
 public:
  using Count = base::Count;
  using Point = std::vector<Count>;
  using Points = std::set<Point>;

  Simulation(const workload::Einsum& einsum, const Mapping& mapping) : einsum_(einsum), mapping_(mapping) {}

  struct Words {
    Count accesses = 0;    // each word once for all instances that want it in the same step
    Count deliveries = 0;  // once per instance
    bool operator==(const Words&) const = default;
  };

  // What one instance of level `upper` passes to the instances of level `lower` below it (-1: compute
  // units, which hold nothing) when the levels between keep nothing.
  Words between(int upper, int lower, int s) const {
    const std::vector<Count> tile = extents_up_to(lower);
    const std::vector<std::vector<Count>> places = instances(upper, lower);
    std::vector<Points> held(places.size());
    Words words;
    for_each_step(lower + 1, static_cast<int>(mapping_.levels.size()), [&](const std::vector<Count>& origin) {
      std::map<Points, Count> groups;
      for (std::size_t child = 0; child < places.size(); ++child) {
        Points now = box(s, sum(origin, places[child]), tile);
        Points fresh;
        std::set_difference(now.begin(), now.end(), held[child].begin(), held[child].end(),
                            std::inserter(fresh, fresh.end()));
        if (lower >= 0) held[child] = std::move(now);
        if (!fresh.empty()) ++groups[fresh];
      }
      for (const auto& [fresh, members] : groups) {
        words.accesses += static_cast<Count>(fresh.size());
        words.deliveries += static_cast<Count>(fresh.size()) * members;
      }
    });
    return words;
  }

  // Different words that one instance of `level` holds over the whole run.
  Count seen(int level, int s) const {
    const std::vector<Count> tile = extents_up_to(level);
    Points all;
    for_each_step(level + 1, static_cast<int>(mapping_.levels.size()),
                  [&](const std::vector<Count>& origin) { all.merge(box(s, origin, tile)); });
    return static_cast<Count>(all.size());
  }

  // Instances of level `lower` (-1: compute units) below one of level `upper`.
  Count instances_between(int upper, int lower) const { return static_cast<Count>(instances(upper, lower).size()); }

 private:
  std::size_t dimensions() const { return einsum_.dimensions.size(); }

  std::vector<Count> extents_up_to(int level) const {
    std::vector<Count> extents(dimensions(), 1);
    for (int j = 0; j <= level; ++j)
      for (std::size_t d = 0; d < dimensions(); ++d)
        extents[d] *= mapping_.levels[j].temporal[d] * mapping_.levels[j].spatial[d];
    return extents;
  }

  static std::vector<Count> sum(std::vector<Count> a, const std::vector<Count>& b) {
    for (std::size_t d = 0; d < a.size(); ++d) a[d] += b[d];
    return a;
  }

  // Where, in loop variables, each instance below starts.
  std::vector<std::vector<Count>> instances(int upper, int lower) const {
    std::vector<std::vector<Count>> places{std::vector<Count>(dimensions(), 0)};
    for (int j = lower + 1; j <= upper; ++j) {
      const std::vector<Count> stride = extents_up_to(j - 1);
      for (std::size_t d = 0; d < dimensions(); ++d) {
        const std::vector<std::vector<Count>> before = places;
        for (Count index = 1; index < mapping_.levels[j].spatial[d]; ++index)
          for (std::vector<Count> place : before) {
            place[d] += index * stride[d];
            places.push_back(std::move(place));
          }
      }
    }
    return places;
  }

  // Calls `step` with the loop variables at the start of each iteration of T_first to T_{end-1}.
  template <typename Step>
  void for_each_step(int first, int end, Step step) const {
    struct Loop {
      int dimension;
      Count iterations, stride;
    };
    std::vector<Loop> loops;  // innermost first
    for (int j = first; j < end; ++j) {
      const std::vector<Count> stride = extents_up_to(j - 1);
      for (const int d : mapping_.levels[j].temporal_order)
        loops.push_back({d, mapping_.levels[j].temporal[d], stride[d] * mapping_.levels[j].spatial[d]});
    }
    std::vector<Count> index(loops.size(), 0);
    while (true) {
      std::vector<Count> origin(dimensions(), 0);
      for (std::size_t l = 0; l < loops.size(); ++l) origin[loops[l].dimension] += index[l] * loops[l].stride;
      step(origin);
      std::size_t l = 0;
      while (l < loops.size() && ++index[l] == loops[l].iterations) index[l++] = 0;
      if (l == loops.size()) return;
    }
  }

  // The box that spans the image of `extents` iterations from `origin` on.
  Points box(int s, const std::vector<Count>& origin, const std::vector<Count>& extents) const {
    std::vector<Point> points{Point{}};
    for (const workload::Rank& rank : einsum_.dataspaces[s].ranks) {
      Count low = 0, high = 0;
      for (const auto& [d, coefficient] : rank.terms) {
        low += coefficient * origin[d];
        high += coefficient * (origin[d] + extents[d] - 1);
      }
      std::vector<Point> longer;
      for (const Point& point : points)
        for (Count x = low; x <= high; ++x) {
          longer.push_back(point);
          longer.back().push_back(x);
        }
      points = std::move(longer);
    }
    return {points.begin(), points.end()};
  }

  const workload::Einsum& einsum_;
  const Mapping& mapping_;
};

}  // namespace orrery::nest::testing
