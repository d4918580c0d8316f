// Where constraints fix no number of dimensions along X, any split of those with no fixed place will do, and fixed ones
// lie where their place puts them; so splits and subsets are tried one after the other. Cost: two to the number of
// dimensions that are spread, for each split, a few nanoseconds each; times the ways to deal factors.
#include "orrery/engines/nest/space/mesh_axes.h"

#include <algorithm>
#include <map>

#include "orrery/base/numbers/factor.h"

namespace orrery::nest {

using base::Count;

int FixedOrder::place_of(int dimension, int all) const {
  for (std::size_t p = 0; p < inner.size(); ++p)
    if (inner[p] == dimension) return static_cast<int>(p);
  for (std::size_t p = 0; p < outer.size(); ++p)
    if (outer[p] == dimension) return all - static_cast<int>(outer.size() - p);
  return -1;
}

FixedOrders fixed_orders(const Mapspace& mapspace, int levels, int dimensions) {
  FixedOrders orders;
  orders.temporal.resize(static_cast<std::size_t>(levels));
  orders.spatial.resize(static_cast<std::size_t>(levels));
  for (const Constraint& constraint : mapspace.constraints) {
    FixedOrder& order = (constraint.spatial ? orders.spatial : orders.temporal)[constraint.level];
    if (constraint.kind == Constraint::Kind::kOrder) {
      order.inner = constraint.inner;
      order.outer = constraint.outer;
    } else if (constraint.kind == Constraint::Kind::kSplit) {
      orders.spatial[constraint.level].split = static_cast<int>(std::clamp<Count>(constraint.value, 0, dimensions));
    }
  }
  return orders;
}

std::optional<std::uint32_t> lay_out(const FixedOrder& order, int dimensions, std::uint32_t iterating,
                                     const Count* factor, Count fanout_x, Count fanout_y) {
  const int first_free = static_cast<int>(order.inner.size());
  const int last_free = dimensions - static_cast<int>(order.outer.size());
  const int lowest = order.split.value_or(0), highest = order.split.value_or(dimensions);
  for (int split = highest; split >= lowest; --split) {
    std::uint32_t to_x = 0, free = 0;
    for (int d = 0; d < dimensions; ++d) {
      const int place = order.place_of(d, dimensions);
      if (place < 0 && (iterating >> d & 1)) free |= 1u << d;
      if (place >= 0 && place < split && (iterating >> d & 1)) to_x |= 1u << d;
    }
    const int room_x = std::clamp(split, first_free, last_free) - first_free;
    const int room_y = last_free - first_free - room_x;
    for (std::uint32_t chosen = free;; chosen = (chosen - 1) & free) {
      if (__builtin_popcount(chosen) <= room_x && __builtin_popcount(free & ~chosen) <= room_y) {
        Count x = 1, y = 1;
        for (int d = 0; d < dimensions; ++d)
          if (iterating >> d & 1) ((to_x | chosen) >> d & 1 ? x : y) *= factor[d];
        if (x <= fanout_x && y <= fanout_y) return to_x | chosen;
      }
      if (chosen == 0) break;
    }
  }
  return std::nullopt;
}

std::pair<std::vector<int>, int> full_order(const FixedOrder& order, int dimensions, std::uint32_t iterating,
                                            std::uint32_t to_x) {
  std::vector<int> full = order.inner;
  const auto add = [&](auto wanted) {
    for (int d = 0; d < dimensions; ++d)
      if (order.place_of(d, dimensions) < 0 && wanted(d)) full.push_back(d);
  };
  add([&](int d) { return (iterating & to_x) >> d & 1; });
  add([&](int d) { return !(iterating >> d & 1); });
  add([&](int d) { return (iterating & ~to_x) >> d & 1; });
  full.insert(full.end(), order.outer.begin(), order.outer.end());
  if (order.split) return {full, *order.split};
  int split = 0;
  for (std::size_t p = 0; p < full.size(); ++p)
    if ((iterating & to_x) >> full[p] & 1) split = static_cast<int>(p) + 1;
  return {full, split};
}

std::vector<Layout> layouts(const FixedOrder& order, int dimensions, const Count* factor, Count fanout_x,
                            Count fanout_y) {
  std::uint32_t iterating = 0;
  for (int d = 0; d < dimensions; ++d)
    if (factor[d] > 1) iterating |= 1u << d;
  std::map<std::vector<int>, Layout> all;  // by the order of loops that iterate
  for (std::uint32_t to_x = iterating;; to_x = (to_x - 1) & iterating) {
    const auto [whole, split] = full_order(order, dimensions, iterating, to_x);
    std::vector<int> x, y;  // free to change places along their side
    Count used_x = 1, used_y = 1;
    bool fits = true;
    for (int p = 0; p < dimensions; ++p) {
      const int d = whole[p];
      if (!(iterating >> d & 1)) continue;
      fits = fits && (p < split) == (to_x >> d & 1);
      (p < split ? used_x : used_y) *= factor[d];
      if (order.place_of(d, dimensions) < 0) (p < split ? x : y).push_back(d);
    }
    do {
      if (!fits || used_x > fanout_x || used_y > fanout_y) break;
      do {
        std::vector<int> full = whole, loops;
        std::size_t next_x = 0, next_y = 0;
        for (int p = 0; p < dimensions; ++p) {
          if (!(iterating >> full[p] & 1)) continue;
          if (order.place_of(full[p], dimensions) < 0) full[p] = p < split ? x[next_x++] : y[next_y++];
          loops.push_back(full[p]);
        }
        all.try_emplace(std::move(loops), std::move(full), split);
      } while (std::next_permutation(y.begin(), y.end()));
    } while (std::next_permutation(x.begin(), x.end()));
    if (to_x == 0) break;
  }
  std::vector<Layout> listed;
  for (auto& [loops, layout] : all) listed.push_back(std::move(layout));
  return listed;
}

namespace {

class Dealer {
 public:
  Dealer(const Parts& parts, const Count* factor, std::vector<Count>& left,
         const std::function<bool(const std::vector<Count>&)>& use)
      : parts_(parts), factor_(factor), left_(left), use_(use), dealt_(left.size(), 1) {}

  bool dimension(std::size_t d) {
    if (d == parts_.of.size()) return use_(dealt_);
    return part(d, 0, factor_[d]);
  }

 private:
  // What is still to be dealt of a dimension's factor to its parts from `k` on.
  bool part(std::size_t d, std::size_t k, Count factor) {
    const std::vector<int>& of = parts_.of[d];
    if (k == of.size()) return factor == 1 && dimension(d + 1);
    const auto deal = [&](Count some) {
      Count& left = left_[static_cast<std::size_t>(of[k])];
      if (left % some != 0) return false;
      left /= some;
      dealt_[static_cast<std::size_t>(of[k])] = some;
      const bool good = part(d, k + 1, factor / some);
      left *= some;
      return good;
    };
    if (factor == 1 || k + 1 == of.size()) return deal(factor);
    const std::vector<Count> divisors = base::divisors(factor);
    // Large ones first: most factors fit as one.
    return std::any_of(divisors.rbegin(), divisors.rend(), deal);
  }

  const Parts& parts_;
  const Count* factor_;
  std::vector<Count>& left_;
  const std::function<bool(const std::vector<Count>&)>& use_;
  std::vector<Count> dealt_;
};

}  // namespace

bool each_dealing(const Parts& parts, const Count* factor, std::vector<Count>& left,
                  const std::function<bool(const std::vector<Count>&)>& use) {
  return Dealer(parts, factor, left, use).dimension(0);
}

std::optional<std::uint32_t> lay_out(const Parts& parts, int level, const Count* factor, Count fanout_x,
                                     Count fanout_y) {
  std::optional<std::uint32_t> to_x;
  std::vector<Count> left = parts.bound;
  const int all = static_cast<int>(parts.bound.size());
  each_dealing(parts, factor, left, [&](const std::vector<Count>& dealt) {
    std::uint32_t iterating = 0;
    for (int d = 0; d < all; ++d)
      if (dealt[d] > 1) iterating |= 1u << d;
    const auto sides = lay_out(parts.spatial[level], all, iterating, dealt.data(), fanout_x, fanout_y);
    if (!sides) return false;
    to_x = 0;
    for (std::size_t d = 0; d < parts.of.size(); ++d)
      for (const int part : parts.of[d])
        if (*sides >> part & 1) *to_x |= 1u << d;
    return true;
  });
  return to_x;
}

}  // namespace orrery::nest
