#include "orrery/formats/timeloop/architecture/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/plausible.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/architecture/clock.h"
#include "orrery/formats/timeloop/architecture/level_builder.h"
#include "orrery/formats/timeloop/expressions/expression.h"
#include "orrery/formats/timeloop/expressions/key_check.h"
#include "orrery/formats/timeloop/expressions/unit_mistake.h"

namespace orrery::formats::timeloop {
namespace {

void check_version(const yaml::Node& architecture, base::Diagnostics& found) {
  const yaml::Node* version = architecture.find("version");
  if (version == nullptr) return;  // its form tells
  if (version->is_scalar()) {
    for (std::string_view known : {"0.2", "0.3", "0.4"}) {
      if (version->scalar == known) return;
    }
  }
  found
      .error("O0301",
             fmt::format("architecture version {} is not known",
                         version->is_scalar() ? "`" + version->scalar + "`" : std::string("(no plain value)")),
             version->where)
      .note("known versions: 0.2, 0.3, 0.4")
      .hint("write `version: 0.4`");
}

// `DIM: 32` beside `nodes` is a variable of the architecture; a map or list there is a mistake.
void define_own_variables(const yaml::Node& architecture, AttributeFrame& top, base::Diagnostics& found) {
  static const std::vector<std::string> kKeys = {"version",    "nodes",      "subtree", "name",
                                                 "attributes", "arithmetic", "storage", "local"};
  for (const auto& entry : architecture.entries) {
    if (std::find(kKeys.begin(), kKeys.end(), plain_key(entry.key)) != kKeys.end()) continue;
    if (entry.value.is_scalar()) {
      top.scope.define(entry.key, &entry.value);
    } else if (!entry.value.is_null()) {
      warn_unknown_key(entry, kKeys, "O0323", "an architecture", found);
    }
  }
}

std::vector<ParallelGroup> resolve(const std::vector<ParallelNames>& groups, const machine::Chip& chip) {
  std::vector<ParallelGroup> resolved;
  for (const ParallelNames& group : groups) {
    ParallelGroup parallel;
    parallel.where = group.where;
    for (const auto& branch : group.branches) {
      ParallelGroup::Branch levels;
      levels.nothing = branch.nothing;
      for (const std::string& name : branch.components) {
        const int level = chip.storage_index(name);
        if (level >= 0) levels.levels.push_back(level);
      }
      parallel.branches.push_back(std::move(levels));
    }
    resolved.push_back(std::move(parallel));
  }
  return resolved;
}

bool names_components(const yaml::Node& node) {
  return node.scalar.find(".attributes[") != std::string::npos ||
         std::any_of(node.items.begin(), node.items.end(), names_components) ||
         std::any_of(node.entries.begin(), node.entries.end(),
                     [](const yaml::Node::Entry& entry) { return names_components(entry.value); });
}

// What expressions may name of other components.
void define_attributes(const yaml::Node& node, Scope& scope) {
  const yaml::Node* name = node.find("name");
  const yaml::Node* attributes = node.find("attributes");
  if (name != nullptr && name->is_scalar() && attributes != nullptr)
    for (const yaml::Node::Entry& entry : attributes->entries)
      scope.define(attribute_name(split_range(name->scalar).first, entry.key), &entry.value);
  for (const yaml::Node& item : node.items) define_attributes(item, scope);
  for (const yaml::Node::Entry& entry : node.entries) define_attributes(entry.value, scope);
}

}  // namespace

std::optional<base::Count> range_size(std::string_view range) {
  const std::size_t dots = std::min(range.find(".."), range.size());
  const auto first = base::parse_number<base::Count>(range.substr(0, dots));
  const auto last = base::parse_number<base::Count>(range.substr(std::min(dots + 2, range.size())));
  base::Count size = 0;
  if (!first || !last || __builtin_sub_overflow(*last, *first, &size) || __builtin_add_overflow(size, 1, &size))
    return std::nullopt;
  return size;
}

std::pair<std::string, base::Count> split_range(std::string_view name) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos || name.back() != ']') return {std::string(name), 1};
  return {std::string(name.substr(0, open)), range_size(name.substr(open + 1, name.size() - open - 2)).value_or(1)};
}

int target_level(const machine::Chip& chip, std::string_view target) {
  const std::string name = split_range(target).first;
  const int level = chip.storage_index(name);
  return level >= 0 ? level : chip.storage_index(machine::fan_out_name(name));
}

std::string name_of(const yaml::Node& node, std::string_view what, base::Diagnostics& found) {
  const yaml::Node* name = node.find("name");
  if (name != nullptr && name->is_scalar() && !name->scalar.empty()) return name->scalar;
  found.error("O0306", fmt::format("{} has no name", what), name != nullptr ? name->where : node.where)
      .hint("add `name: ...`");
  return "";
}

const yaml::Node* attributes_of(const yaml::Node& node, base::Diagnostics& found) {
  const yaml::Node* attributes = node.find("attributes");
  if (attributes == nullptr || attributes->is_null()) return nullptr;
  if (!attributes->is_map()) {
    found.error("O0305", "`attributes` must be a map of names to values", attributes->where);
    return nullptr;
  }
  return attributes;
}

bool is_enabled(const yaml::Node& node, const Scope& scope, base::Diagnostics& found) {
  const yaml::Node* enabled = node.find("enabled");
  return enabled == nullptr || enabled->is_null() || as_bool(*enabled, scope, "enabled", found).value_or(true);
}

std::optional<Component> read_component(const yaml::Node& node, std::string name, const AttributeFrame& frame,
                                        base::Diagnostics& found) {
  Component component;
  component.name = std::move(name);
  component.where = node.where;
  if (const yaml::Node* place = node.find("name")) component.where = place->where;
  component.frame = &frame;
  component.node = &node;
  component.around = frame.outer;
  const yaml::Node* class_node = node.find("class");
  if (class_node == nullptr) class_node = node.find("subclass");  // what it is estimated as tells what it is
  if (class_node == nullptr || !class_node->is_scalar() || class_node->scalar.empty()) {
    found
        .error("O0306", fmt::format("component `{}` has no class", component.name),
               class_node != nullptr ? class_node->where : component.where)
        .hint("add `class: SRAM` for a storage, `class: intmac` for the compute");
    return std::nullopt;
  }
  component.class_name = class_node->scalar;
  if (const yaml::Node* actions = node.find("required_actions")) {
    for (const yaml::Node& action : actions->items) component.says_compute |= action.scalar == "compute";
  }
  if (frame.attributes != nullptr) warn_misspelt_attributes(*frame.attributes, found);
  return component;
}

base::Count mesh_product(base::Count a, base::Count b, std::string_view name, const base::Location& where,
                         base::Diagnostics& found) {
  try {
    return base::checked_multiply(a, b);
  } catch (const base::OverflowError&) {
    found.error("O0304", fmt::format("`{}`: {} x {} instances exceed 64 bits", name, a, b), where);
    return a;
  }
}

Architecture read_architecture(const yaml::Node& architecture, const Scope& variables, base::Diagnostics& found,
                               Purpose purpose) {
  Architecture result;
  if (!architecture.is_map()) {
    found.error("O0302", "`architecture` must be a map", architecture.where)
        .hint("it holds `version` and `nodes` (v4) or `subtree` (v3)");
    return result;
  }
  check_version(architecture, found);
  const yaml::Node* nodes = architecture.find("nodes");
  const yaml::Node* subtree = architecture.find("subtree");
  const yaml::Node* storage = architecture.find("storage");
  const bool flat_form = nodes == nullptr && subtree == nullptr && storage != nullptr;
  const yaml::Node* local = architecture.find("local");
  const bool listed = nodes == nullptr && subtree == nullptr && !flat_form && local != nullptr;
  if (listed && purpose == Purpose::kMapping) {
    found
        .error("O0302", "a flattened architecture says what there is, but not which storage lies inside which",
               local->where)
        .note("nothing can be mapped onto it")
        .hint("give the architecture that it was made from; `orrery energy` estimates this one, too");
    return result;
  }
  if (nodes == nullptr && subtree == nullptr && !flat_form && architecture.find("arithmetic") != nullptr) {
    found.error("O0302", "the architecture has `arithmetic`, but no list `storage`", architecture.where)
        .hint("list its storages, the innermost first: `storage = ( { name = \"Buffer\"; entries = 1024; }, ... );`");
    return result;
  }
  if (!flat_form && !listed && (nodes == nullptr) == (subtree == nullptr)) {
    auto& diagnostic = found.error("O0302",
                                   nodes != nullptr ? "an architecture has `nodes` (v4) or `subtree` (v3), not both"
                                                    : "the architecture has no `nodes` (v4) and no `subtree` (v3)",
                                   nodes != nullptr ? subtree->where : architecture.where);
    if (nodes != nullptr) {
      diagnostic.also(nodes->where, "the nodes");
    } else {
      static const std::vector<std::string> kForms = {"nodes", "subtree"};
      for (const auto& entry : architecture.entries) {
        if (entry.value.is_sequence()) suggest(diagnostic, entry.key, kForms, "an architecture holds");
      }
    }
    return result;
  }
  auto shared = std::make_shared<Flattened>();
  Flattened& flat = *shared;
  result.flat = shared;
  const AttributeFrame& top = flat.frames.emplace_back(variables);
  const yaml::Node* own = attributes_of(architecture, found);
  AttributeFrame& around = flat.frames.emplace_back(top, own);
  define_own_variables(architecture, around, found);
  if (names_components(architecture)) define_attributes(architecture, around.scope);
  result.v3 = subtree != nullptr || flat_form || listed;
  flat.priced = flat_form;
  const yaml::Node* version = architecture.find("version");
  result.before_v4 = version == nullptr ? result.v3 : version->scalar == "0.2" || version->scalar == "0.3";
  if (listed) {
    flatten_local(*local, around, flat, found);
  } else if (flat_form) {
    flatten_lists(*storage, architecture.find("arithmetic"), around, flat, found);
  } else if (result.v3) {
    flatten_subtree(*subtree, around, flat, found);
  } else {
    flatten_nodes(*nodes, around, flat, found);
  }
  result.chip = build_levels(flat.components, purpose, result.apart, found);
  if (purpose == Purpose::kMapping) std::erase_if(flat.components, is_wire);  // nothing of it is asked for
  result.chip.name = flat.name;
  if (flat_form && !found.has_errors()) flat.ratios = apply_ratios(flat, result.chip, found);
  result.attached = flat.attached;
  result.parallel = resolve(flat.parallel, result.chip);

  const AttributeFrame& innermost =
      flat.components.empty() || flat.components.front().frame == nullptr ? around : *flat.components.front().frame;
  if (!innermost.scope.knows("global_cycle_seconds")) {
    const auto clock = result.before_v4 ? clock_of_latency(innermost) : std::nullopt;
    if (clock) {
      result.chip.cycle_seconds = clock->seconds;
      base::doubt(base::HardwareFigure::kClock, 1 / clock->seconds, "1 / latency", clock->latency->where, found);
    } else if (result.before_v4 && !flat_form) {
      result.chip.cycle_seconds = kOldClockSeconds;
    }
  } else {
    constexpr std::string_view kClock = "global_cycle_seconds";
    yaml::Node name;
    name.kind = yaml::Node::Kind::kScalar;
    name.scalar = kClock;
    name.where = architecture.where;
    if (const yaml::Node* written = innermost.scope.node_of(kClock); written != nullptr && written->where.known()) {
      name.where = written->where;
      if (unit_mistake(written->scalar, kClock)) name.scalar = written->scalar;
    }
    const base::Location where = name.where;
    if (const auto seconds = as_number(name, innermost.scope, kClock, found)) {
      if (*seconds > 0 && std::isfinite(*seconds)) {
        result.chip.cycle_seconds = *seconds;
        base::doubt(base::HardwareFigure::kClock, 1 / *seconds, "1 / global_cycle_seconds", where, found);
      } else {
        found.error("O0321", fmt::format("`global_cycle_seconds` must be positive, but is {}", *seconds), where);
      }
    }
  }
  return result;
}

}  // namespace orrery::formats::timeloop
