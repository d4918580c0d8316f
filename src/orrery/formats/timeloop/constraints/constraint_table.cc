#include "orrery/formats/timeloop/constraints/constraint_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace orrery::formats::timeloop {

using nest::Comparison;
using nest::Constraint;

bool LoopConstraints::names(int dimension) const {
  return std::any_of(factors.begin(), factors.end(), [&](const auto& entry) { return entry.first.first == dimension; });
}

ConstraintTable::ConstraintTable(const Architecture& architecture_in, const workload::Einsum& einsum_in,
                                 base::Diagnostics& found_in)
    : architecture(architecture_in), einsum(einsum_in), found(found_in) {
  levels.resize(architecture.chip.storages.size());
  for (LevelConstraints& level : levels) level.keep.resize(einsum.dataspaces.size());
}

std::string ConstraintTable::place(int level, bool spatial) const {
  return fmt::format("the {} loops of `{}`", spatial ? "spatial" : "temporal", level_name(level));
}

base::Count ConstraintTable::fanout(int level) const {
  const machine::Chip& chip = architecture.chip;
  const machine::Storage& outer = chip.storages[level];
  if (outer.mesh_x < 1 || outer.mesh_y < 1) return 1;  // machine::check reports it
  base::Count inside = 0;
  if (__builtin_mul_overflow(chip.fanout_x(level), chip.fanout_y(level), &inside))
    return std::numeric_limits<base::Count>::max();
  return std::max<base::Count>(1, inside);
}

void ConstraintTable::add_factor(int level, bool spatial, Factor factor) {
  const workload::Dimension& dimension = einsum.dimensions[factor.dimension];
  if (factor.comparison == Comparison::kEqual && factor.value == 0) factor.value = dimension.bound;
  const auto key = std::make_pair(factor.dimension, factor.comparison);
  auto& factors = levels[level].loops(spatial).factors;
  if (const auto first = factors.find(key); first != factors.end()) {
    if (!architecture.v3 && first->second.value == factor.value) return;
    found
        .error("O0508", fmt::format("{} are given a factor of `{}` twice", place(level, spatial), dimension.name),
               factor.where)
        .label(fmt::format("`{}` here", factor.text))
        .also(first->second.where, fmt::format("`{}` here", first->second.text))
        .hint("keep one of the two");
    return;
  }
  factors.emplace(key, GivenCount{factor.value, factor.text, factor.where});
}

void ConstraintTable::add_order(int level, bool spatial, Permutation order) {
  std::optional<Permutation>& given = levels[level].loops(spatial).order;
  if (!given) {
    given = std::move(order);
    return;
  }
  if (architecture.v3)
    report_second_order({level, spatial, std::move(order)});
  else
    later_orders_.push_back({level, spatial, std::move(order)});
}

void ConstraintTable::report_second_order(const LaterOrder& later) {
  const Permutation& first = *levels[later.level].loops(later.spatial).order;
  found
      .error("O0508", fmt::format("{} are given a permutation twice", place(later.level, later.spatial)),
             later.order.where)
      .label(fmt::format("`{}` here", later.order.text))
      .also(first.where, fmt::format("`{}` here", first.text))
      .hint("keep one of the two");
}

std::vector<int> ConstraintTable::iterating(int level, bool spatial, const Permutation& order) const {
  const LevelConstraints& at = levels[level];
  const auto& factors = (spatial ? at.spatial : at.temporal).factors;
  std::vector<int> loops;
  const auto add = [&](int d) {
    const auto fixed = factors.find({d, Comparison::kEqual});
    const bool once = einsum.dimensions[d].bound == 1 || (fixed != factors.end() && fixed->second.value == 1);
    if (!once) loops.push_back(d);
  };
  for (int d : order.inner) add(d);
  loops.push_back(-1);
  for (int d : order.outer) add(d);
  return loops;
}

void ConstraintTable::check_orders() {
  for (const LaterOrder& later : later_orders_) {
    const Permutation& first = *levels[later.level].loops(later.spatial).order;
    if (iterating(later.level, later.spatial, first) != iterating(later.level, later.spatial, later.order))
      report_second_order(later);
  }
  later_orders_.clear();
}

void ConstraintTable::add_split(int level, GivenCount split) {
  std::optional<GivenCount>& given = levels[level].spatial.split;
  if (!given) {
    given = std::move(split);
    return;
  }
  if (!architecture.v3 && given->value == split.value) return;
  found.error("O0508", fmt::format("{} are given a split twice", place(level, true)), split.where)
      .label(fmt::format("`{}` here", split.text))
      .also(given->where, fmt::format("`{}` here", given->text))
      .hint("keep one of the two");
}

void ConstraintTable::add_keep(int level, int dataspace, GivenKeep keep) {
  std::optional<GivenKeep>& given = levels[level].keep[dataspace];
  const bool outermost = level + 1 == static_cast<int>(levels.size());
  if (!given || (architecture.v3 && outermost)) {
    given = std::move(keep);
    return;
  }
  if (given->keep == keep.keep && !architecture.v3) return;
  const std::string& name = einsum.dataspaces[dataspace].name;
  const auto verb = [](bool kept) { return kept ? "kept" : "bypassed"; };
  const bool opposed = given->keep != keep.keep;
  found
      .error(opposed ? "O0509" : "O0508",
             opposed ? fmt::format("`{}` is told both to keep and to bypass `{}`", level_name(level), name)
                     : fmt::format("`{}` is told twice about `{}`", level_name(level), name),
             keep.where)
      .label(fmt::format("{} here", verb(keep.keep)))
      .also(given->where, fmt::format("{} here", verb(given->keep)))
      .hint("keep one of the two");
}

void ConstraintTable::add_factor_if_absent(int level, bool spatial, int dimension, base::Count value,
                                           const std::string& text, const base::Location& where) {
  levels[level].loops(spatial).factors.try_emplace({dimension, Comparison::kEqual}, GivenCount{value, text, where});
}

void ConstraintTable::add_keep_if_absent(int level, int dataspace, bool keep, const std::string& text,
                                         const base::Location& where) {
  std::optional<GivenKeep>& given = levels[level].keep[dataspace];
  if (!given) given = GivenKeep{keep, text, where};
}

std::vector<base::Count> ConstraintTable::left_over() const {
  std::vector<base::Count> left;
  for (const workload::Dimension& dimension : einsum.dimensions) left.push_back(dimension.bound);
  for (const LevelConstraints& level : levels)
    for (const LoopConstraints* loops : {&level.temporal, &level.spatial})
      for (const auto& [key, given] : loops->factors)
        if (key.second == Comparison::kEqual && given.value > 0)
          left[key.first] = base::ceil_divide(left[key.first], given.value);
  return left;
}

nest::Mapspace ConstraintTable::mapspace() const {
  nest::Mapspace space;
  bool any_reuse = false;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const LevelConstraints& level = levels[l];
    const int index = static_cast<int>(l);
    for (bool spatial : {true, false}) {
      const LoopConstraints& loops = spatial ? level.spatial : level.temporal;
      for (const auto& [key, given] : loops.factors) {
        const workload::Dimension& dimension = einsum.dimensions[key.first];
        if (key.second == Comparison::kEqual && given.value > dimension.bound) {
          found
              .warning("O0510",
                       fmt::format("`{}` exceeds the problem's {} = {}; it is ignored, as Timeloop does", given.text,
                                   dimension.name, dimension.bound),
                       given.where)
              .note(fmt::format("`{}` is now free in {}", dimension.name, place(index, spatial)))
              .hint(fmt::format("to fix the whole dimension here, write `{}=0`", dimension.name));
          continue;
        }
        Constraint constraint;
        constraint.kind = Constraint::Kind::kFactor;
        constraint.level = index;
        constraint.spatial = spatial;
        constraint.dimension = key.first;
        constraint.comparison = key.second;
        constraint.value = given.value;
        constraint.text = given.text;
        constraint.where = given.where;
        space.constraints.push_back(std::move(constraint));
      }
      if (loops.order) {
        Constraint constraint;
        constraint.kind = Constraint::Kind::kOrder;
        constraint.level = index;
        constraint.spatial = spatial;
        constraint.inner = loops.order->inner;
        constraint.outer = loops.order->outer;
        constraint.text = fmt::format("permutation {}", loops.order->text);
        constraint.where = loops.order->where;
        space.constraints.push_back(std::move(constraint));
      }
    }
    if (level.spatial.split) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kSplit;
      constraint.level = index;
      constraint.spatial = true;
      constraint.value =
          std::min<base::Count>(level.spatial.split->value, static_cast<base::Count>(einsum.dimensions.size()));
      constraint.text = level.spatial.split->text;
      constraint.where = level.spatial.split->where;
      space.constraints.push_back(std::move(constraint));
    }
    for (std::size_t s = 0; s < level.keep.size(); ++s) {
      if (!level.keep[s]) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kKeep;
      constraint.level = index;
      constraint.dataspace = static_cast<int>(s);
      constraint.keep = level.keep[s]->keep;
      constraint.text = level.keep[s]->text;
      constraint.where = level.keep[s]->where;
      space.constraints.push_back(std::move(constraint));
    }
    const nest::ReuseRules& reuse = level.reuse;
    any_reuse =
        any_reuse || reuse.no_temporal_reuse || reuse.no_spatial_sharing || reuse.read_first_update || reuse.no_links;
  }
  for (const Constraint& constraint : parallelism) space.constraints.push_back(constraint);
  if (any_reuse)
    for (const LevelConstraints& level : levels) space.reuse.push_back(level.reuse);
  return space;
}

}  // namespace orrery::formats::timeloop
