// Components as Timeloop's front end hands them to Accelergy.
//
//   attributes   the component's own, then those of the containers around it, then `variables`
//   class        `subclass` where there is one, else `class`
//   actions      v4: read, write, update and leak of a storage, compute of the compute; v3: `required_actions`, else
//                those of the class, else the same. A compound has all actions of its class.
//   fan-outs     `inter_<container>_spatial` of class dummy_storage with `technology: -1`
//
// Cost: linear in components times attributes, and compound.cc's.
#include "orrery/formats/timeloop/components/energy_components.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <tuple>

#include "orrery/describe/energy/technology.h"
#include "orrery/describe/machine/fan_out_name.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/architecture/clock.h"
#include "orrery/formats/timeloop/architecture/prices.h"
#include "orrery/formats/timeloop/components/compound.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using energy::Attributes;

bool is_plain_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

// Attributes of a frame and of all around it, innermost first; YAML null counts as not given.
Attributes settled(const AttributeFrame& innermost, base::Diagnostics& found) {
  Attributes result;
  const auto add = [&](const std::string& key, const yaml::Node& node, base::Diagnostics& own) {
    if (node.is_null() || node.is_map() || node.is_sequence() || result.count(key) > 0) return;
    auto value = evaluate(node, innermost.scope, own);
    if (value && !std::holds_alternative<std::monostate>(*value)) result.emplace(key, std::move(*value));
  };
  for (const AttributeFrame* frame = &innermost; frame != nullptr; frame = frame->outer) {
    if (frame->attributes == nullptr) continue;
    for (const yaml::Node::Entry& entry : frame->attributes->entries) add(plain_key(entry.key), entry.value, found);
  }
  // Variables that no component reads may be wrong without harm.
  for (const std::string& name : innermost.scope.names()) {
    const yaml::Node* node = innermost.scope.node_of(name);
    if (node == nullptr || name == "version" || !is_plain_name(name)) continue;
    base::Diagnostics own;
    add(plain_key(name), *node, own);
  }
  return result;
}

// Timeloop calls a word's bits `word-bits`, and gives a block's words instead of its bits; estimators ask for
// `datawidth` and `width`.
void take_other_names(Attributes& attributes) {
  constexpr auto kOthers = std::to_array<std::pair<const char*, const char*>>({{"word_width", "word_bits"},
                                                                               {"n_words", "block_size"},
                                                                               {"memory_width", "width"},
                                                                               {"data_storage_width", "width"},
                                                                               {"memory_depth", "depth"},
                                                                               {"data_storage_depth", "depth"}});
  for (const auto& [other, name] : kOthers)
    if (const auto held = attributes.find(other); held != attributes.end()) attributes.emplace(name, held->second);
  const auto count = [&](const char* name) -> std::optional<Count> {
    const auto held = attributes.find(name);
    const Count* value = held == attributes.end() ? nullptr : std::get_if<Count>(&held->second);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  };
  std::optional<Count> bits = count("datawidth");
  if (!bits && (bits = count("word_bits"))) attributes.emplace("datawidth", *bits);
  const std::optional<Count> words = count("block_size");
  Count width = 0;
  if (bits && words && !__builtin_mul_overflow(*bits, *words, &width)) attributes.emplace("width", width);
}

class Builder {
 public:
  Builder(const Architecture& architecture, ComponentClasses& classes, const energy::EstimateOptions& options,
          bool energies_required, base::Diagnostics& found)
      : architecture_(architecture),
        classes_(classes),
        options_(options),
        energies_required_(energies_required),
        found_(found) {}

  std::vector<energy::Component> run() {
    std::vector<energy::Component> primitives;
    std::vector<energy::Component> compounds;
    for (const Component& component : architecture_.flat->components) {
      auto [built, compound] = one(component);
      if (built) (compound ? compounds : primitives).push_back(std::move(*built));
    }
    std::move(compounds.begin(), compounds.end(), std::back_inserter(primitives));
    return primitives;
  }

 private:
  // The component, and whether it is a compound; nothing where there is nothing to estimate.
  std::pair<std::optional<energy::Component>, bool> one(const Component& from) {
    energy::Component to;
    to.name = from.name;
    to.where = from.where;
    to.class_name = estimated_class(from);
    place(from, to);
    const bool made =
        from.node == nullptr || (from.class_name == "dummy_storage" && !machine::container_of(from.name).empty());
    if (made && !options_.defects.charge_fan_outs) return {std::move(to), false};

    ComponentDemands demands;
    demands.class_name = to.class_name;
    demands.cycle_is_argument = !architecture_.before_v4;
    const bool compound = classes_.find(to.class_name, found_) != nullptr;
    const machine::Network* network = architecture_.chip.network(from.name);
    if (network != nullptr && !compound && to.class_name == from.class_name &&
        from.class_name.find("SimpleMulticast") == std::string::npos) {
      return {std::nullopt, false};
    }
    const AttributeFrame* frame = from.frame != nullptr ? from.frame : from.around;
    to.attributes = settled(*frame, found_);
    if (!options_.defects.charge_fan_outs) take_other_names(to.attributes);
    if (!made) take_clock(*frame, to.attributes);
    if (!made && !is_technology(*frame, to.attributes)) return {std::nullopt, false};
    if (made) {
      for (const char* key : {"width", "depth", "datawidth"}) to.attributes.insert_or_assign(key, Count{1});
      to.attributes.insert_or_assign("technology", Count{-1});
    } else {
      demands.required_actions = required(from, compound, network);
      demands.energy_scale =
          product(energy_factors(*from.node), frame->scope, "the energy of `" + from.name + "`", options_, found_);
      demands.area_scale =
          product(area_factors(*from.node), frame->scope, "the area of `" + from.name + "`", options_, found_);
    }
    if (!architecture_.v3) {
      to.attributes.emplace("meshX", Count{1});
      to.attributes.emplace("meshY", Count{1});
      if (architecture_.chip.storage_index(from.name) >= 0) to.attributes.emplace("n_banks", Count{2});
    }
    if (!made && !compound && from.frame != nullptr && from.frame->attributes != nullptr)
      warn_of_attributes_nobody_estimates_by(*from.frame->attributes, found_);
    base::Diagnostics own;
    take_apart(demands, classes_, options_, to, own);
    if (energies_required_ && !own.has_errors() && !made) check_priced(from, to, network, own);
    found_.append(own);
    return {std::move(to), compound};
  }

  // One place for what holds for all components, so that it is said once.
  base::Location first_place() const {
    return architecture_.flat->components.empty() ? base::Location() : architecture_.flat->components.front().where;
  }

  // False, with an error at the attribute, where `technology` begins as a length and is none in nm: then no estimator
  // knows it, whatever the class. The error is said once for all components that inherit it.
  bool is_technology(const AttributeFrame& frame, const Attributes& attributes) {
    const energy::Value* value = energy::find(attributes, "technology");
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    if (text == nullptr || text->empty() || !std::isdigit(static_cast<unsigned char>(text->front())) ||
        energy::node_nm(*value))
      return true;
    const yaml::Node* node = frame.find("technology");
    if (node == nullptr) node = frame.scope.node_of("technology");
    const base::Location where = node != nullptr ? node->where : first_place();
    if (!technologies_.emplace(where.line, where.column, *text).second) return false;
    const std::size_t end = text->find_first_not_of("0123456789.");
    found_.error("O1201", fmt::format("`technology` is `{}`, no length in nm", *text), where)
        .note("no estimator knows it, of whatever class")
        .hint(fmt::format("write it in nm, such as `{}nm`", end == 0 ? "45" : text->substr(0, end)));
    return false;
  }

  // What a description before version 0.4 calls `latency`, or leaves out.
  void take_clock(const AttributeFrame& frame, Attributes& attributes) {
    if (attributes.contains("global_cycle_seconds") || !architecture_.before_v4) return;
    const auto clock = clock_of_latency(frame);
    if (clock) {
      attributes.emplace("global_cycle_seconds", clock->seconds);
      found_
          .warning("O2044",
                   fmt::format("`latency: {}` is taken as the clock: there is no `global_cycle_seconds`",
                               clock->latency->scalar),
                   clock->latency->where)
          .severity = base::Severity::kNote;
    } else {
      attributes.emplace("global_cycle_seconds", kOldClockSeconds);
      auto& warning = found_.warning("O2044", "no clock is given; a cycle is taken to last 5 ns", first_place());
      warning.note("so do Accelergy's tables for descriptions before 0.4; leakage depends on it, and seconds");
      warning.hint("add `global_cycle_seconds: 1e-9` to the attributes of the chip, with its own value");
    }
  }

  // The model must not run on figures that nobody asked for.
  void check_priced(const Component& from, const energy::Component& to, const machine::Network* network,
                    base::Diagnostics& found) const {
    const machine::Chip& chip = architecture_.chip;
    if (network != nullptr) {
      if (!to.actions.empty()) return;
      found.error("O1223", fmt::format("class `{}` of network `{}` has no actions", to.class_name, to.name), to.where)
          .note("its transfers could not be priced")
          .hint(fmt::format("describe the class under `compound_components`, with an action `{}{}`",
                            network->action_name, network->per_dataspace ? "_<dataspace>" : ""));
      return;
    }
    if (from.name == chip.compute.name) return demand(to, "compute", kComputeNames, found);
    const int level = chip.storage_index(from.name);
    if (level < 0) return;
    const machine::Storage& storage = chip.storages[static_cast<std::size_t>(level)];
    if (storage.energy_from_user || storage.capacity_words == Count{0}) return;
    demand(to, "read", kReadNames, found);
    demand(to, "write", kWriteNames, found);
    demand(to, "update", kUpdateNames, found);
  }

  static void demand(const energy::Component& component, std::string_view what, ActionNames names,
                     base::Diagnostics& found) {
    std::vector<std::string> present;
    for (const energy::Action& action : component.actions) {
      if (std::find(names.begin(), names.end(), action.name) != names.end()) return;
      if (std::find(present.begin(), present.end(), action.name) == present.end()) present.push_back(action.name);
    }
    auto& diagnostic = found.error(
        "O1215", fmt::format("class `{}` of `{}` has no action `{}`", component.class_name, component.name, what),
        component.where);
    diagnostic.note(fmt::format("looked for {}", quoted_list(std::vector<std::string>(names.begin(), names.end()))));
    suggest(diagnostic, what, present, "its actions");
  }

  static std::string estimated_class(const Component& from) {
    const yaml::Node* subclass = from.node == nullptr ? nullptr : from.node->find("subclass");
    return subclass != nullptr && subclass->is_scalar() && !subclass->scalar.empty() ? subclass->scalar
                                                                                     : from.class_name;
  }

  // Of a component that nothing is mapped onto, where it does not say: what its class does.
  static std::string action_of(std::string_view class_name) {
    constexpr auto kActions = std::to_array<std::array<std::string_view, 2>>({{"ADC", "convert"},
                                                                              {"DAC", "convert"},
                                                                              {"router", "transfer"},
                                                                              {"wire", "transfer"},
                                                                              {"multicast", "transfer"},
                                                                              {"sample_and_hold", "sample"},
                                                                              {"shift_and_add", "add"}});
    for (const auto& [name, action] : kActions)
      if (class_name == name) return std::string(action);
    return "compute";
  }

  // Its name in tables, and how many there are.
  void place(const Component& from, energy::Component& to) const {
    const machine::Chip& chip = architecture_.chip;
    const int level = chip.storage_index(from.name);
    const auto apart = architecture_.apart.find(from.name);
    const bool counted = level >= 0 || from.name == chip.compute.name || apart != architecture_.apart.end();
    to.instances = level >= 0                           ? chip.storages[static_cast<std::size_t>(level)].instances
                   : from.name == chip.compute.name     ? chip.compute.instances
                   : apart != architecture_.apart.end() ? apart->second
                   : from.meshes_known                  ? from.mesh_x * from.mesh_y
                                                        : from.instances;
    if (!from.table_path.empty()) {
      to.table_name = from.table_path;
      return;
    }
    to.table_name = fmt::format("{}{}.{}", chip.name, chip.name.empty() ? "top_level" : "_top_level", from.name);
    if (counted) to.table_name += fmt::format("[1..{}]", to.instances);
  }

  std::vector<std::string> required(const Component& from, bool compound, const machine::Network* network) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    const yaml::Node* stated = from.node->find("required_actions");
    const bool by_statement = stated != nullptr && !stated->items.empty();
    if (!architecture_.v3 || (!by_statement && !compound)) {
      if (network != nullptr) {
        if (!compound && !network->per_dataspace) add(network->action_name);
      } else if (from.name == architecture_.chip.compute.name) {
        // Before v4 the arithmetic of Accelergy's own classes was an action of another name.
        const bool old_mac =
            architecture_.v3 && !compound && (estimated_class(from) == "intmac" || estimated_class(from) == "fpmac");
        add(old_mac ? "mac_random" : "compute");
      } else if (architecture_.apart.contains(from.name)) {
        if (!by_statement && !compound) add(action_of(estimated_class(from)));
      } else {
        for (const char* name : {"read", "write", "update", "leak"}) add(name);
      }
    }
    if (by_statement) {
      for (const yaml::Node& action : stated->items) {
        if (action.is_scalar() && !action.scalar.empty()) add(action.scalar);
      }
    }
    // Whatever is stated, the model needs these of a primitive.
    if (!compound && network == nullptr && !architecture_.apart.contains(from.name)) {
      const auto ensure = [&](const char* name, ActionNames all) {
        const bool there = std::any_of(names.begin(), names.end(), [&](const std::string& one) {
          return std::find(all.begin(), all.end(), one) != all.end();
        });
        if (!there) add(name);
      };
      if (from.name == architecture_.chip.compute.name) {
        ensure("compute", kComputeNames);
      } else {
        ensure("read", kReadNames);
        ensure("write", kWriteNames);
        ensure("update", kUpdateNames);
      }
    }
    return names;
  }

  const Architecture& architecture_;
  ComponentClasses& classes_;
  const energy::EstimateOptions& options_;
  bool energies_required_ = true;
  base::Diagnostics& found_;
  std::set<std::tuple<int, int, std::string>> technologies_;  // that were refused, and where they stand
};

// Components of one class share its faults, and layers of a model share everything.
void append_once(const base::Diagnostics& from, base::Diagnostics& to) {
  std::set<std::tuple<std::string, std::string, const void*, int, int>> said;
  for (const base::Diagnostic& diagnostic : from.all()) {
    const base::Location& where = diagnostic.primary.where;
    if (!said.emplace(diagnostic.code, diagnostic.message, where.file.get(), where.line, where.column).second) continue;
    base::Diagnostic& copy = diagnostic.severity == base::Severity::kError
                                 ? to.error(diagnostic.code, diagnostic.message)
                                 : to.warning(diagnostic.code, diagnostic.message);
    copy = diagnostic;
  }
}

}  // namespace

std::vector<energy::Component> energy_components(const Architecture& architecture, ComponentClasses& classes,
                                                 const energy::EstimateOptions& options, bool energies_required,
                                                 base::Diagnostics& found) {
  base::Diagnostics own;
  auto components = Builder(architecture, classes, options, energies_required, own).run();
  append_once(own, found);
  return components;
}

std::vector<std::string> lacking(const std::vector<energy::Component>& components, std::string_view key) {
  std::vector<std::string> names;
  for (const energy::Component& component : components) {
    const bool lacks =
        std::any_of(component.primitives.begin(), component.primitives.end(), [&](const energy::Primitive& primitive) {
          return energy::find(primitive.attributes, key) == nullptr &&
                 !(key == "technology" && primitive.class_name == "DRAM");
        });
    if (lacks) names.push_back(component.name);
  }
  return names;
}

}  // namespace orrery::formats::timeloop
