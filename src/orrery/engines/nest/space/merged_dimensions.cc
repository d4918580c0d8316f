// Cost: linear in the einsum and the mapping; where fan-outs have two sides, times the ways to deal their factors.
#include "orrery/engines/nest/space/merged_dimensions.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "orrery/engines/nest/space/mesh_axes.h"

namespace orrery::nest {

namespace {

using base::Count;

// How dataspaces move with dimension d: for each, 0: not at all, 1: on an axis of its own, 2: otherwise.
std::vector<int> moves(const workload::Einsum& einsum, int d) {
  std::vector<int> kinds;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    int kind = 0;
    for (const workload::Rank& rank : dataspace.ranks) {
      Count here = 0;
      bool alone = true;
      for (const workload::Term& term : rank.terms) {
        if (term.coefficient == 0) continue;
        if (term.dimension == d)
          here += term.coefficient;
        else if (einsum.dimensions[term.dimension].bound > 1)
          alone = false;
      }
      if (here != 0) kind = kind == 0 && alone && here == 1 ? 1 : 2;
    }
    kinds.push_back(kind);
  }
  return kinds;
}

// Blocks where constraints leave a dimension no loop; nothing where they say anything else of it.
using Still = std::set<std::pair<int, bool>>;
std::vector<std::optional<Still>> list_still(const workload::Einsum& einsum, const Mapspace& space) {
  std::vector<std::optional<Still>> still(einsum.dimensions.size(), Still{});
  for (const Constraint& constraint : space.constraints) switch (constraint.kind) {
      case Constraint::Kind::kFactor:
        if (constraint.value != 1 || constraint.comparison == Comparison::kAtLeast)
          still[constraint.dimension].reset();
        else if (still[constraint.dimension])
          still[constraint.dimension]->insert({constraint.level, constraint.spatial});
        break;
      case Constraint::Kind::kOrder:
        for (const int d : constraint.inner) still[d].reset();
        for (const int d : constraint.outer) still[d].reset();
        break;
      case Constraint::Kind::kSplit:
        std::fill(still.begin(), still.end(), std::nullopt);
        break;
      case Constraint::Kind::kKeep:
      case Constraint::Kind::kMinParallelism:
        break;
    }
  return still;
}

bool sides_differ(const machine::Chip& chip) {
  for (int level = 0; level < static_cast<int>(chip.storages.size()); ++level)
    if (chip.fanout_x(level) > 1 && chip.fanout_y(level) > 1) return true;
  return false;
}

}  // namespace

std::optional<Merged> merge_alike(const workload::Einsum& einsum, const machine::Chip& chip, const Mapspace& space) {
  const int dims = static_cast<int>(einsum.dimensions.size());
  const std::vector<std::optional<Still>> still = list_still(einsum, space);
  Merged merged;
  std::vector<int> place(dims, -1);
  std::vector<std::pair<std::vector<int>, std::optional<Still>>> kinds;  // of each group; none: alone
  for (int d = 0; d < dims; ++d) {
    const std::vector<int> kind = moves(einsum, d);
    const bool plain =
        still[d] && einsum.dimensions[d].bound > 1 && std::find(kind.begin(), kind.end(), 2) == kind.end();
    const auto all = plain ? std::pair(kind, still[d]) : std::pair(std::vector<int>{}, std::optional<Still>{});
    const auto same = plain ? std::find(kinds.begin(), kinds.end(), all) : kinds.end();
    place[d] = static_cast<int>(same - kinds.begin());
    if (same == kinds.end()) {
      kinds.push_back(all);
      merged.parts.push_back({d});
      merged.einsum.dimensions.push_back(einsum.dimensions[d]);
    } else {
      workload::Dimension& sum = merged.einsum.dimensions[place[d]];
      if (sum.bound > base::Count{1} << 40 || einsum.dimensions[d].bound > base::Count{1} << 20) return std::nullopt;
      sum.bound *= einsum.dimensions[d].bound;
      sum.name += "*" + einsum.dimensions[d].name;
      merged.parts[place[d]].push_back(d);
    }
  }
  if (merged.parts.size() == einsum.dimensions.size()) return std::nullopt;
  merged.einsum.name = einsum.name;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    workload::Dataspace& copy = merged.einsum.dataspaces.emplace_back(dataspace);
    copy.ranks.clear();
    for (const workload::Rank& rank : dataspace.ranks) {
      workload::Rank next;
      bool stays = rank.terms.empty();
      for (const workload::Term& term : rank.terms) {
        const std::vector<int>& parts = merged.parts[place[term.dimension]];
        // The first part stands for all.
        if (term.dimension != parts.front()) continue;
        next.terms.push_back({place[term.dimension], term.coefficient});
        stays = true;
      }
      if (stays) copy.ranks.push_back(std::move(next));
    }
  }
  merged.space = space;
  if (sides_differ(chip)) {
    auto parts = std::make_shared<Parts>();
    parts->of = merged.parts;
    for (const workload::Dimension& dimension : einsum.dimensions) parts->bound.push_back(dimension.bound);
    parts->spatial = fixed_orders(space, static_cast<int>(chip.storages.size()), dims).spatial;
    merged.space.parts = std::move(parts);
  }
  for (Constraint& constraint : merged.space.constraints) {
    if (constraint.kind == Constraint::Kind::kFactor) constraint.dimension = place[constraint.dimension];
    for (int& d : constraint.inner) d = place[d];
    for (int& d : constraint.outer) d = place[d];
  }
  return merged;
}

namespace {

constexpr int kMostTries = 20'000;

class Splitter {
 public:
  Splitter(const Merged& merged, const workload::Einsum& original, const machine::Chip& chip, const Mapping& mapping)
      : merged_(merged), chip_(chip), mapping_(mapping), dims_(static_cast<int>(original.dimensions.size())) {
    for (const workload::Dimension& dimension : original.dimensions) left_.push_back(dimension.bound);
    result_.levels.resize(mapping.levels.size());
  }

  std::optional<Mapping> run() {
    if (!spread(0)) return std::nullopt;
    return std::move(result_);
  }

 private:
  // Deals the factors of the fan-outs from `level` on.
  bool spread(std::size_t level) {
    if (level == mapping_.levels.size()) return iterate();
    const LevelMapping& from = mapping_.levels[level];
    LevelMapping& to = result_.levels[level];
    if (!merged_.space.parts) {
      to.spatial = deal(from.spatial);
      const auto middle = from.spatial_order.begin() + from.split;
      spell({from.spatial_order.begin(), middle}, to.spatial_order);
      to.split = static_cast<int>(to.spatial_order.size());
      spell({middle, from.spatial_order.end()}, to.spatial_order);
      return spread(level + 1);
    }
    const FixedOrder& order = merged_.space.parts->spatial[level];
    const int i = static_cast<int>(level);
    return each_dealing(*merged_.space.parts, from.spatial.data(), left_, [&](const std::vector<Count>& dealt) {
      if (++tries_ > kMostTries) return false;
      std::uint32_t iterating = 0;
      for (int d = 0; d < dims_; ++d)
        if (dealt[d] > 1) iterating |= 1u << d;
      const auto to_x = lay_out(order, dims_, iterating, dealt.data(), chip_.fanout_x(i), chip_.fanout_y(i));
      if (!to_x) return false;
      const std::vector<Count> spatial = dealt;
      if (!spread(level + 1)) return false;
      to.spatial = spatial;
      std::tie(to.spatial_order, to.split) = full_order(order, dims_, iterating, *to_x);
      return true;
    });
  }

  // What fan-outs have left.
  bool iterate() {
    for (std::size_t i = 0; i < mapping_.levels.size(); ++i) {
      result_.levels[i].temporal = deal(mapping_.levels[i].temporal);
      spell(mapping_.levels[i].temporal_order, result_.levels[i].temporal_order);
      result_.levels[i].keep = mapping_.levels[i].keep;
    }
    return true;
  }

  // The parts take what they can of each factor, one after the other.
  std::vector<Count> deal(const std::vector<Count>& factors) {
    std::vector<Count> dealt(static_cast<std::size_t>(dims_), 1);
    for (std::size_t k = 0; k < factors.size(); ++k) {
      Count factor = factors[k];
      for (const int d : merged_.parts[k]) {
        dealt[d] = std::gcd(factor, left_[d]);
        left_[d] /= dealt[d];
        factor /= dealt[d];
      }
    }
    return dealt;
  }

  void spell(const std::vector<int>& order, std::vector<int>& out) const {
    for (const int d : order) out.insert(out.end(), merged_.parts[d].begin(), merged_.parts[d].end());
  }

  const Merged& merged_;
  const machine::Chip& chip_;
  const Mapping& mapping_;
  const int dims_;
  std::vector<Count> left_;  // of each part
  Mapping result_;
  int tries_ = 0;
};

}  // namespace

std::optional<Mapping> split(const Merged& merged, const workload::Einsum& original, const machine::Chip& chip,
                             const Mapping& mapping) {
  return Splitter(merged, original, chip, mapping).run();
}

}  // namespace orrery::nest
