#include "orrery/formats/timeloop/constraints/fanout_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace orrery::formats::timeloop {
namespace {

using nest::Constraint;

std::string fanouts(const ConstraintTable& table) {
  std::string text;
  for (int level = 0; level < static_cast<int>(table.levels.size()); ++level)
    if (table.fanout(level) > 1)
      text += fmt::format("{}`{}` {}", text.empty() ? "" : ", ", table.level_name(level), table.fanout(level));
  return text.empty() ? "none" : text;
}

void make_pass_through(int level, ConstraintTable& table) {
  const machine::Storage& storage = table.architecture.chip.storages[level];
  LevelConstraints& given = table.levels[level];
  given.temporal.order.reset();
  for (auto& [key, factor] : given.temporal.factors) {
    const bool holds = key.second == nest::Comparison::kAtMost || factor.value <= 1 ||
                       factor.value > table.einsum.dimensions[key.first].bound;
    if (!holds)
      table.found
          .error("O0517",
                 fmt::format("`{}` cannot hold: `{}` is a fan-out and does not iterate in time", factor.text,
                             storage.name),
                 factor.where)
          .also(storage.where, "a fan-out without a store");
  }
  given.temporal.factors.clear();
  for (std::size_t d = 0; d < table.einsum.dimensions.size(); ++d)
    table.add_factor_if_absent(level, false, static_cast<int>(d), 1,
                               fmt::format("{}=1 (a fan-out does not iterate)", table.einsum.dimensions[d].name),
                               storage.where);
  for (std::size_t s = 0; s < given.keep.size(); ++s) {
    if (given.keep[s] && given.keep[s]->keep)
      table.found
          .error("O0517",
                 fmt::format("`{}` cannot keep `{}`: it is a fan-out without a store", storage.name,
                             table.einsum.dataspaces[s].name),
                 given.keep[s]->where)
          .also(storage.where, "a fan-out without a store");
    given.keep[s] = GivenKeep{false, "a fan-out keeps nothing", storage.where};
  }
}

}  // namespace

// Timeloop counts the share of all fan-outs together and takes it at the innermost level only. A map space knows a
// share per level; the two agree when one level alone fans out, when nothing may stay idle, or when the spatial factors
// that are given reach the share by themselves.
void read_utilization(int level, const yaml::Node& body, const Scope& variables, ConstraintTable& table) {
  const yaml::Node* least = body.find("min");
  if (!least) {
    table.found.error("O0501", "`utilization` needs `min`, a share between 0 and 1", body.where);
    return;
  }
  const std::optional<double> fraction = as_number(*least, variables, "min", table.found);
  if (!fraction) return;
  if (!(*fraction >= 0 && *fraction <= 1)) {
    table.found.error("O0518", fmt::format("the least utilization must lie between 0 and 1, but is {}", *fraction),
                      least->where);
    return;
  }
  std::vector<int> fanning;
  for (int l = 0; l < static_cast<int>(table.levels.size()); ++l)
    if (table.fanout(l) > 1) fanning.push_back(l);
  const bool own = level > 0 && table.fanout(level) > 1;
  if (own) fanning = {level};
  if (level > 0 && !own) {
    table.found
        .error("O0511", fmt::format("`{}` has no fan-out whose use could be demanded", table.level_name(level)),
               least->where)
        .hint(fmt::format("demand it of the innermost level, `{}`, or of a level that fans out", table.level_name(0)));
    return;
  }
  if (fanning.size() > 1 && *fraction < 1 && *fraction > 0) {
    table.joint = {*fraction, least->where};
    return;
  }
  for (int l : fanning) {
    const auto twice = std::find_if(table.parallelism.begin(), table.parallelism.end(),
                                    [&](const Constraint& given) { return given.level == l; });
    if (twice != table.parallelism.end()) {
      table.found
          .error("O0508", fmt::format("`{}` is given a least utilization twice", table.level_name(l)), least->where)
          .also(twice->where, "first here");
      continue;
    }
    Constraint constraint;
    constraint.kind = Constraint::Kind::kMinParallelism;
    constraint.level = l;
    constraint.spatial = true;
    constraint.fraction = *fraction;
    constraint.text = fmt::format("utilization of `{}` at least {}", table.level_name(l), *fraction);
    constraint.where = least->where;
    table.parallelism.push_back(std::move(constraint));
  }
}

// Spatial loops where nothing fans out: factors of 1 say nothing, others cannot hold.
void check_fanouts(ConstraintTable& table) {
  for (int level = 0; level < static_cast<int>(table.levels.size()); ++level) {
    LoopConstraints& spatial = table.levels[level].spatial;
    if (spatial.empty() || table.fanout(level) > 1) continue;
    bool warned = false;
    for (const auto& [key, given] : spatial.factors) {
      const base::Count bound = table.einsum.dimensions[key.first].bound;
      const bool cannot_hold = given.value > 1 && key.second != nest::Comparison::kAtMost &&
                               !(key.second == nest::Comparison::kEqual && given.value > bound);
      if (cannot_hold) {
        table.found
            .error("O0511",
                   fmt::format("`{}` cannot hold: one instance of `{}` has one instance inside it", given.text,
                               table.level_name(level)),
                   given.where)
            .note(fmt::format("fan-outs: {}", fanouts(table)));
      } else if (!warned) {
        warned = true;
        table.found.warning(
            "O0511", fmt::format("`{}` has no fan-out: its spatial constraints say nothing", table.level_name(level)),
            given.where);
      }
    }
    spatial = {};
  }
}

void check_joint_share(const ConstraintTable& table) {
  if (!table.joint) return;
  double all = 1, given = 1;
  int fanning = 0;
  for (int level = 0; level < static_cast<int>(table.levels.size()); ++level) {
    if (table.fanout(level) <= 1) continue;
    ++fanning;
    all *= static_cast<double>(table.fanout(level));
    for (const auto& [key, factor] : table.levels[level].spatial.factors)
      if (key.second != nest::Comparison::kAtMost && factor.value >= 1 &&
          factor.value <= table.einsum.dimensions[key.first].bound)
        given *= static_cast<double>(factor.value);
  }
  if (given >= table.joint->fraction * all) return;
  table.found
      .error("O0512",
             fmt::format("a least utilization of {} over {} fan-outs together is not modelled", table.joint->fraction,
                         fanning),
             table.joint->where)
      .note(fmt::format("the spatial factors that are given use {} of {} instances", given, all))
      .hint("demand it of each level that fans out, give its spatial factors, or set `min: 1`");
}

void add_defaults(ConstraintTable& table) {
  const machine::Chip& chip = table.architecture.chip;
  for (int level = 0; level < static_cast<int>(table.levels.size()); ++level)
    if (chip.storages[level].pass_through) make_pass_through(level, table);
  const int outermost = static_cast<int>(table.levels.size()) - 1;
  for (std::size_t s = 0; s < table.einsum.dataspaces.size(); ++s)
    table.add_keep_if_absent(outermost, static_cast<int>(s), true, "the outermost level keeps by default",
                             chip.storages[outermost].where);
}

}  // namespace orrery::formats::timeloop
