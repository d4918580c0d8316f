#include "orrery/formats/timeloop/constraints/constraint_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {

ConstraintType constraint_type(const std::string& name) {
  const std::string key = plain_key(name);
  if (key == "temporal") return ConstraintType::kTemporal;
  if (key == "spatial") return ConstraintType::kSpatial;
  if (key == "dataspace" || key == "datatype" || key == "bypass" || key == "bypassing")
    return ConstraintType::kDataspace;
  if (key == "utilization" || key == "parallelism") return ConstraintType::kParallelism;
  if (key == "no_multicast" || key == "no_reduction" || key == "no_multicast_no_reduction" || key == "no_link_transfer")
    return ConstraintType::kReuse;
  if (key == "max_overbooked_proportion" || key == "skew") return ConstraintType::kUnmodelled;
  return ConstraintType::kUnknown;
}

const std::vector<std::string>& constraint_type_names() {
  static const std::vector<std::string> kNames = {"temporal",
                                                  "spatial",
                                                  "dataspace",
                                                  "datatype",
                                                  "bypass",
                                                  "bypassing",
                                                  "utilization",
                                                  "parallelism",
                                                  "no_multicast",
                                                  "no_reduction",
                                                  "skew",
                                                  "max_overbooked_proportion",
                                                  "no_multicast_no_reduction"};
  return kNames;
}

std::vector<std::string> target_names(const machine::Chip& chip) {
  std::vector<std::string> names;
  for (auto storage = chip.storages.rbegin(); storage != chip.storages.rend(); ++storage) {
    const std::string_view container = machine::container_of(storage->name);
    names.emplace_back(storage->pass_through && !container.empty() ? container : storage->name);
  }
  return names;
}

std::optional<int> level_named(const machine::Chip& chip, const std::string& target, bool spatial) {
  if (spatial) {
    const int around = chip.storage_index(machine::fan_out_name(target));
    if (around >= 0) return around;
  }
  const int level = target_level(chip, target);
  if (level >= 0) return level;
  return std::nullopt;
}

void warn_without_fanout(const std::string& target, const base::Location& where, base::Diagnostics& found) {
  found
      .warning("O0520",
               fmt::format("`{}` has no fan-out: there is nothing that these constraints could constrain", target),
               where)
      .hint(fmt::format("give `{}` a `spatial: {{meshX: ...}}`, or remove them", target));
}

std::optional<int> find_target(const Architecture& architecture, const std::string& target, ConstraintType type,
                               const base::Location& where, base::Diagnostics& found) {
  const machine::Chip& chip = architecture.chip;
  const bool spatial = type == ConstraintType::kSpatial || type == ConstraintType::kReuse;
  if (const auto level = level_named(chip, target, spatial)) return level;
  const bool number = !target.empty() && target.size() < 4 && std::all_of(target.begin(), target.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c));
  });
  if (number && std::stoul(target) < chip.storages.size()) return static_cast<int>(std::stoul(target));
  const std::vector<std::string> names = target_names(chip);
  if (target == chip.compute.name) {
    found
        .error("O0503", fmt::format("`{}` is the compute unit: it keeps nothing and has no loops to constrain", target),
               where)
        .hint(fmt::format("constrain the level that feeds it, `{}`", names.back()));
    return std::nullopt;
  }
  if (chip.network(target)) {
    found
        .error("O0503", fmt::format("`{}` is a network: it keeps nothing and has no loops to constrain", target), where)
        .note(fmt::format("levels, outermost first: {}", quoted_list(names)));
    return std::nullopt;
  }
  for (const AttachedConstraints& attached : architecture.attached)
    if (attached.target == target) {
      warn_without_fanout(target, where, found);
      return std::nullopt;
    }
  suggest(found.error("O0502", fmt::format("no level is called `{}`", target), where), target, names,
          "levels, outermost first");
  return std::nullopt;
}

}  // namespace orrery::formats::timeloop
