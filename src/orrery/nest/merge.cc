// Cost: linear in the einsum and the mapping.
#include "orrery/nest/merge.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

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
  if (sides_differ(chip)) return std::nullopt;
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
  for (Constraint& constraint : merged.space.constraints) {
    if (constraint.kind == Constraint::Kind::kFactor) constraint.dimension = place[constraint.dimension];
    for (int& d : constraint.inner) d = place[d];
    for (int& d : constraint.outer) d = place[d];
  }
  return merged;
}

Mapping split(const Merged& merged, const workload::Einsum& original, const Mapping& mapping) {
  const std::size_t dims = original.dimensions.size();
  std::vector<Count> left(dims);
  for (std::size_t d = 0; d < dims; ++d) left[d] = original.dimensions[d].bound;
  // The parts take what they can of each factor, one after the other.
  const auto deal = [&](const std::vector<Count>& factors) {
    std::vector<Count> dealt(dims, 1);
    for (std::size_t k = 0; k < factors.size(); ++k) {
      Count factor = factors[k];
      for (const int d : merged.parts[k]) {
        dealt[d] = std::gcd(factor, left[d]);
        left[d] /= dealt[d];
        factor /= dealt[d];
      }
    }
    return dealt;
  };
  const auto spell = [&](const std::vector<int>& order, std::size_t first, std::size_t last, std::vector<int>& out) {
    for (std::size_t k = first; k < last; ++k)
      out.insert(out.end(), merged.parts[order[k]].begin(), merged.parts[order[k]].end());
  };
  Mapping result;
  for (const LevelMapping& level : mapping.levels) {
    LevelMapping& next = result.levels.emplace_back();
    next.temporal = deal(level.temporal);
    next.spatial = deal(level.spatial);
    spell(level.temporal_order, 0, level.temporal_order.size(), next.temporal_order);
    spell(level.spatial_order, 0, static_cast<std::size_t>(level.split), next.spatial_order);
    next.split = static_cast<int>(next.spatial_order.size());
    spell(level.spatial_order, static_cast<std::size_t>(level.split), level.spatial_order.size(), next.spatial_order);
    next.keep = level.keep;
  }
  return result;
}

}  // namespace orrery::nest
