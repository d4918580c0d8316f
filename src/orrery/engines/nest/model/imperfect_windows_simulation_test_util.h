// Windows over tiles that leave a remainder, counted the slow way: every iteration, every instance, every word.
// Test-only.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"

namespace orrery::nest::testing {

class ImperfectWindowsSimulation {
 public:
  using Count = base::Count;
  using Digits = std::vector<Count>;     // of one dimension in space, outside some level, innermost first
  using Instance = std::vector<Digits>;  // by dimension
  using Words = std::set<std::vector<Count>>;

  ImperfectWindowsSimulation(const workload::Einsum& einsum, const Mapping& mapping, int s)
      : einsum_(einsum), mapping_(mapping), dataspace_(einsum.dataspaces[s]), s_(s) {}

  // Words that instances of `keeper` (-1: compute units) are brought, by instance of `server` at or outside it. Where
  // all that instances of a level want is the same, they are served once, but for the fan-outs `alone`.
  std::map<Instance, Count> brought(int keeper, int server, bool every_step, std::uint32_t alone) {
    keeper_ = keeper, server_ = server, every_step_ = every_step, alone_ = alone;
    words_.clear();
    held_.clear();
    index_.assign(mapping_.levels.size(), Digits(einsum_.dimensions.size(), 0));
    walk(static_cast<int>(mapping_.levels.size()) - 1, static_cast<int>(einsum_.dimensions.size()) - 1);
    return words_;
  }

 private:
  struct Held {
    Words words;
    std::vector<Count> corner, slide;
  };
  using Wishes = std::vector<Words>;

  // Whether iteration `point` of dimension d falls to what index_ says of the loops in time outside level `level`, or
  // outside position `at` there.
  bool falls(std::size_t d, Count point, int level, int at) const {
    for (int i = 0; i < static_cast<int>(mapping_.levels.size()); ++i) {
      point /= mapping_.levels[i].spatial[d];
      const Count digit = point % mapping_.levels[i].temporal[d];
      point /= mapping_.levels[i].temporal[d];
      const auto& order = mapping_.levels[i].temporal_order;
      const int here = static_cast<int>(std::find(order.begin(), order.end(), static_cast<int>(d)) - order.begin());
      if ((i > level || (i == level && here > at)) && digit != index_[i][d]) return false;
    }
    return true;
  }

  // The loops from level `level`, position `at`, inwards.
  void walk(int level, int at) {
    if (level == keeper_) return step();
    if (at < 0) return walk(level - 1, static_cast<int>(einsum_.dimensions.size()) - 1);
    const std::size_t d = static_cast<std::size_t>(mapping_.levels[level].temporal_order[at]);
    std::map<Instance, Held> second;
    Count iterations = 0;
    for (Count& index = index_[level][d]; index < mapping_.levels[level].temporal[d]; ++index) {
      bool any = false;
      for (Count point = 0; point < einsum_.dimensions[d].bound; ++point) any = any || falls(d, point, level, at - 1);
      if (!any) break;
      walk(level, at - 1);
      if (++iterations == 2) second = held_;
    }
    index_[level][d] = 0;
    // What comes after a loop sees what its second iteration has left.
    if (iterations > 2) held_ = second;
  }

  void step() {
    const int outermost = static_cast<int>(mapping_.levels.size()) - 1;
    // Of each dimension, the points that fall to this step, by instance.
    std::vector<std::map<Digits, std::vector<Count>>> here(einsum_.dimensions.size());
    std::vector<std::set<Digits>> all(einsum_.dimensions.size());
    for (std::size_t d = 0; d < here.size(); ++d)
      for (Count point = 0; point < einsum_.dimensions[d].bound; ++point) {
        Digits digits;
        Count rest = point;
        for (int i = 0; i <= outermost; ++i) {
          if (i > keeper_) digits.push_back(rest % mapping_.levels[i].spatial[d]);
          rest /= mapping_.levels[i].spatial[d] * mapping_.levels[i].temporal[d];
        }
        all[d].insert(digits);
        if (falls(d, point, keeper_, static_cast<int>(here.size()))) here[d][digits].push_back(point);
      }
    std::map<Instance, Wishes> wishes;
    for (const Instance& instance : product(all)) {
      bool idle = false, empty = false;
      std::vector<Count> low(dataspace_.ranks.size(), 0), high = low;
      for (std::size_t d = 0; d < here.size(); ++d) {
        const std::vector<Count>& points = here[d][instance[d]];
        if (points.empty()) {
          (einsum_.relevant(s_, static_cast<int>(d)) ? empty : idle) = true;
          continue;
        }
        for (std::size_t r = 0; r < low.size(); ++r)
          for (const auto& [moving, coefficient] : dataspace_.ranks[r].terms)
            if (moving == static_cast<int>(d)) {
              low[r] += coefficient * points.front();
              high[r] += coefficient * points.back();
            }
      }
      if (idle) continue;
      if (empty) {
        held_.erase(instance);
        continue;
      }
      if (Words fresh = bring(held_[instance], low, high); !fresh.empty()) wishes[instance].push_back(std::move(fresh));
    }
    for (int i = keeper_ + 1; i <= server_; ++i) {
      std::map<Instance, std::vector<Wishes>> below;
      for (auto& [instance, list] : wishes) {
        Instance server;
        for (const Digits& digits : instance) server.emplace_back(digits.begin() + 1, digits.end());
        std::vector<Wishes>& lists = below[server];
        if ((alone_ >> i & 1) || std::find(lists.begin(), lists.end(), list) == lists.end())
          lists.push_back(std::move(list));
      }
      wishes.clear();
      for (auto& [server, lists] : below) {
        for (Wishes& list : lists) wishes[server].insert(wishes[server].end(), list.begin(), list.end());
        std::sort(wishes[server].begin(), wishes[server].end());
      }
    }
    for (const auto& [instance, list] : wishes)
      for (const Words& words : list) words_[instance] += static_cast<Count>(words.size());
  }

  Words bring(Held& held, const std::vector<Count>& low, const std::vector<Count>& high) const {
    Words now{{}};
    for (std::size_t r = 0; r < low.size(); ++r) {
      Words longer;
      for (const std::vector<Count>& word : now)
        for (Count at = low[r]; at <= high[r]; ++at) {
          std::vector<Count> next = word;
          next.push_back(at);
          longer.insert(std::move(next));
        }
      now = std::move(longer);
    }
    if (every_step_) return now;
    const Held before = held;
    held.words = now;
    held.corner = low;
    if (before.words.empty()) return now;
    std::vector<Count> moved = low;
    for (std::size_t r = 0; r < low.size(); ++r) moved[r] -= before.corner[r];
    if (std::any_of(moved.begin(), moved.end(), [](Count by) { return by != 0; })) {
      if (!before.slide.empty() && before.slide != moved) {
        held.slide.clear();
        return now;
      }
      held.slide = moved;
    }
    // New words, if they differ from those held along one axis only and lie in one piece.
    int axes = 0;
    std::size_t axis = 0;
    for (std::size_t r = 0; r < low.size(); ++r)
      if (low[r] != before.words.begin()->at(r) || high[r] != before.words.rbegin()->at(r)) ++axes, axis = r;
    if (axes == 0) return {};
    if (axes > 1) return now;
    Words fresh;
    std::set<Count> places;
    for (const std::vector<Count>& word : now)
      if (!before.words.count(word)) {
        fresh.insert(word);
        places.insert(word[axis]);
      }
    const bool one_piece =
        places.empty() || *places.rbegin() - *places.begin() + 1 == static_cast<Count>(places.size());
    return one_piece ? fresh : now;
  }

  static std::vector<Instance> product(const std::vector<std::set<Digits>>& all) {
    std::vector<Instance> found{{}};
    for (const std::set<Digits>& places : all) {
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

  const workload::Einsum& einsum_;
  const Mapping& mapping_;
  const workload::Dataspace& dataspace_;
  const int s_;
  int keeper_ = 0, server_ = 0;
  bool every_step_ = false;
  std::uint32_t alone_ = 0;
  std::vector<Digits> index_;  // of the loops in time, [level][dimension]
  std::map<Instance, Held> held_;
  std::map<Instance, Count> words_;
};

}  // namespace orrery::nest::testing
