// Checks one mapping against each constraint of mapspace.h.
//
// Unit loops never matter: an order or a split is obeyed when the unit loops can be placed so that the
// whole order obeys it, since the position of a loop that does not iterate has no meaning. Cost: O(constraints *
// dimensions), and dimensions^2 for a split.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/nest/model/legality.h"

namespace orrery::nest {

using base::Count;

namespace {

using Counts = std::vector<Count>;

bool non_unit_loops_are(const std::vector<int>& wanted, const Counts& factors, std::span<const int> loops) {
  std::size_t at = 0;
  for (const int d : wanted)
    if (factors[d] != 1 && (at == loops.size() || loops[at++] != d)) return false;
  return true;
}

bool obeys_order(const Constraint& constraint, const std::vector<int>& order, const Counts& factors) {
  const auto non_unit = [&](const std::vector<int>& loops) {
    return std::count_if(loops.begin(), loops.end(), [&](int d) { return factors[d] != 1; });
  };
  std::vector<int> loops;
  loops.reserve(order.size());
  for (const int d : order)
    if (factors[d] != 1) loops.push_back(d);
  const auto outermost = static_cast<std::size_t>(non_unit(constraint.outer));
  return outermost <= loops.size() && non_unit_loops_are(constraint.inner, factors, loops) &&
         non_unit_loops_are(constraint.outer, factors, std::span(loops).last(outermost));
}

// Whether some whole order whose first `value` loops go to X agrees with the mapping about every
// non-unit loop. Loops that the level's order constraint fixes have a known position; the others
// share the positions between, which unit loops fill up.
bool obeys_split(const Constraint& constraint, const LevelMapping& level, const Mapspace& space) {
  const int n = static_cast<int>(level.spatial.size());
  const Constraint* order = nullptr;
  for (const Constraint& other : space.constraints)
    if (other.kind == Constraint::Kind::kOrder && other.spatial && other.level == constraint.level) order = &other;
  const auto goes_to_x = [&](int d) {
    const auto at = std::find(level.spatial_order.begin(), level.spatial_order.end(), d);
    return at - level.spatial_order.begin() < level.split;
  };
  const auto position_in = [](const std::vector<int>& loops, int d) {
    const auto at = std::find(loops.begin(), loops.end(), d);
    return at == loops.end() ? -1 : static_cast<int>(at - loops.begin());
  };
  const int inner = order ? static_cast<int>(order->inner.size()) : 0;
  const int outer = order ? static_cast<int>(order->outer.size()) : 0;
  const int value = static_cast<int>(std::clamp<Count>(constraint.value, 0, n));
  const int free_in_x = std::clamp(value - inner, 0, n - inner - outer);
  const int free_in_y = n - inner - outer - free_in_x;
  int in_x = 0, in_y = 0;
  for (int d = 0; d < n; ++d) {
    if (level.spatial[d] == 1) continue;
    int position = order ? position_in(order->inner, d) : -1;
    if (position < 0 && order)
      if (const int at = position_in(order->outer, d); at >= 0) position = n - outer + at;
    if (position < 0)
      ++(goes_to_x(d) ? in_x : in_y);
    else if ((position < value) != goes_to_x(d))
      return false;
  }
  return in_x <= free_in_x && in_y <= free_in_y;
}

double parallelism(const LevelMapping& level) {
  double product = 1;
  for (const Count factor : level.spatial) product *= static_cast<double>(factor);
  return product;
}

double available(const machine::Chip& chip, int level) {
  return static_cast<double>(chip.fanout_x(level)) * static_cast<double>(chip.fanout_y(level));
}

bool obeys(const Constraint& constraint, const machine::Chip& chip, const Mapping& mapping, const Mapspace& space) {
  const LevelMapping& level = mapping.levels[constraint.level];
  const Counts& factors = constraint.spatial ? level.spatial : level.temporal;
  switch (constraint.kind) {
    case Constraint::Kind::kFactor: {
      const Count factor = factors[constraint.dimension];
      switch (constraint.comparison) {
        case Comparison::kEqual:
          return factor == constraint.value;
        case Comparison::kAtMost:
          return factor <= constraint.value;
        case Comparison::kAtLeast:
          return factor >= constraint.value;
      }
      return false;
    }
    case Constraint::Kind::kOrder:
      return obeys_order(constraint, constraint.spatial ? level.spatial_order : level.temporal_order, factors);
    case Constraint::Kind::kSplit:
      return obeys_split(constraint, level, space);
    case Constraint::Kind::kKeep:
      return (level.keep >> constraint.dataspace & 1) == constraint.keep;
    case Constraint::Kind::kMinParallelism:
      return parallelism(level) >= constraint.fraction * available(chip, constraint.level);
  }
  return false;
}

std::string names_of(const workload::Einsum& einsum, const std::vector<int>& loops) {
  std::vector<std::string> names;
  for (const int d : loops) names.push_back(einsum.dimensions[d].name);
  return base::joined(names, " ");
}

std::string non_unit_names(const workload::Einsum& einsum, const std::vector<int>& order, const Counts& factors) {
  std::vector<int> loops;
  for (const int d : order)
    if (factors[d] != 1) loops.push_back(d);
  return loops.empty() ? "no loops" : names_of(einsum, loops);
}

void report(const Constraint& constraint, const workload::Einsum& einsum, const machine::Chip& chip,
            const Mapping& mapping, base::Diagnostics& found) {
  const LevelMapping& level = mapping.levels[constraint.level];
  const std::string& name = chip.storages[constraint.level].name;
  const Counts& factors = constraint.spatial ? level.spatial : level.temporal;
  const std::vector<int>& order = constraint.spatial ? level.spatial_order : level.temporal_order;
  const char* block = constraint.spatial ? "spatial" : "temporal";
  const auto error = [&](const char* code, const std::string& message) -> base::Diagnostic& {
    return found.error(code, message, constraint.where).label(fmt::format("`{}` is not obeyed", constraint.text));
  };
  switch (constraint.kind) {
    case Constraint::Kind::kFactor: {
      const char* sign = constraint.comparison == Comparison::kEqual    ? "="
                         : constraint.comparison == Comparison::kAtMost ? "<="
                                                                        : ">=";
      error("O0720", fmt::format("the {} factor of `{}` at `{}` is {}; the map space requires {} {}", block,
                                 einsum.dimensions[constraint.dimension].name, name, factors[constraint.dimension],
                                 sign, constraint.value));
      return;
    }
    case Constraint::Kind::kOrder: {
      base::Diagnostic& diagnostic = error(
          "O0721", fmt::format("the {} loops at `{}` are, from the inside, {}; the map space requires another order",
                               block, name, non_unit_names(einsum, order, factors)));
      if (!constraint.inner.empty())
        diagnostic.note(fmt::format("innermost, from the inside: {}", names_of(einsum, constraint.inner)));
      if (!constraint.outer.empty())
        diagnostic.note(fmt::format("outermost, from the inside: {}", names_of(einsum, constraint.outer)));
      return;
    }
    case Constraint::Kind::kSplit: {
      const std::vector<int> x(order.begin(), order.begin() + level.split);
      const std::vector<int> y(order.begin() + level.split, order.end());
      error(
          "O0722",
          fmt::format("at `{}`, {} go along X and {} along Y; the map space puts the first {} loops of the spatial "
                      "order along X",
                      name, non_unit_names(einsum, x, factors), non_unit_names(einsum, y, factors), constraint.value));
      return;
    }
    case Constraint::Kind::kKeep:
      error("O0723",
            fmt::format("`{}` {} `{}`; the map space requires it {}", name, constraint.keep ? "bypasses" : "keeps",
                        einsum.dataspaces[constraint.dataspace].name, constraint.keep ? "kept" : "bypassed"));
      return;
    case Constraint::Kind::kMinParallelism:
      error("O0724", fmt::format("`{}` uses {} of its fan-out of {} x {}; the map space requires at least {}", name,
                                 parallelism(level), chip.fanout_x(constraint.level), chip.fanout_y(constraint.level),
                                 constraint.fraction * available(chip, constraint.level)));
      return;
  }
}

}  // namespace

void check_allowed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                   const Mapspace& space, base::Diagnostics& found) {
  if (!well_formed(einsum, chip, mapping)) return;
  for (const Constraint& constraint : space.constraints)
    if (!obeys(constraint, chip, mapping, space)) report(constraint, einsum, chip, mapping, found);
}

bool is_allowed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                const Mapspace& space) {
  return well_formed(einsum, chip, mapping) &&
         std::all_of(space.constraints.begin(), space.constraints.end(),
                     [&](const Constraint& constraint) { return obeys(constraint, chip, mapping, space); });
}

}  // namespace orrery::nest
