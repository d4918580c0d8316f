#include "orrery/formats/timeloop/energy_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include "orrery/formats/timeloop/architecture.h"
#include "orrery/formats/timeloop/key_check.h"
#include "orrery/formats/timeloop/value.h"

namespace orrery::formats::timeloop {
namespace {

// "System.Chip.PE[0..15]" -> "PE"; the range may hold dots.
std::string component_of(std::string_view entry) {
  const std::string name = split_range(entry).first;
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

struct Entry {
  const yaml::Node* node = nullptr;
  base::Location where;
  bool used = false;
};

// The entries of one document, by component.
class Table {
 public:
  Table(const yaml::Node& document, std::string_view kind, base::Diagnostics& found) : kind_(kind), found_(found) {
    const yaml::Node* tables = document.find("tables");
    if (tables == nullptr || !tables->is_sequence()) {
      found.error("O0604", fmt::format("the {} has no list `tables`", kind),
                  tables != nullptr ? tables->where : document.where);
      return;
    }
    for (const yaml::Node& entry : tables->items) add(entry);
  }

  const yaml::Node* use(const std::string& component) {
    const auto entry = entries_.find(component);
    if (entry == entries_.end()) return nullptr;
    entry->second.used = true;
    return entry->second.node;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, entry] : entries_) all.push_back(name);
    return all;
  }
  void warn_unused(const std::vector<std::string>& components) const {
    for (const auto& [name, entry] : entries_) {
      if (entry.used) continue;
      auto& diagnostic = found_.warning(
          "O0605", fmt::format("the {} has an entry for `{}`, which the architecture does not have", kind_, name),
          entry.where);
      suggest(diagnostic, name, components, "components");
    }
  }

 private:
  void add(const yaml::Node& entry) {
    const yaml::Node* name = entry.find("name");
    if (name == nullptr || !name->is_scalar() || name->scalar.empty()) {
      found_.error("O0604", fmt::format("an entry of the {} has no name", kind_), entry.where);
      return;
    }
    const auto [first, added] = entries_.emplace(component_of(name->scalar), Entry{&entry, name->where, false});
    if (added) return;
    found_.error("O0607", fmt::format("the {} has two entries for `{}`", kind_, first->first), name->where)
        .also(first->second.where, "the first");
  }

  std::string kind_;
  base::Diagnostics& found_;
  std::map<std::string, Entry> entries_;
};

std::optional<double> figure(const yaml::Node& owner, std::string_view key, const std::string& of,
                             base::Diagnostics& found) {
  const yaml::Node* node = owner.find(key);
  if (node == nullptr) {
    found.error("O0604", fmt::format("{} has no `{}`", of, key), owner.where);
    return std::nullopt;
  }
  const auto value = as_number(*node, Scope(), key, found);
  if (value && !(*value >= 0 && std::isfinite(*value))) {
    found.error("O0606", fmt::format("the {} of {} must be a number from 0, but is {}", key, of, *value), node->where);
    return std::nullopt;
  }
  return value;
}

// Actions of one component, each at its largest energy.
class Actions {
 public:
  Actions(const yaml::Node& entry, const std::string& component, base::Diagnostics& found)
      : entry_(entry), component_(component), found_(found) {
    const yaml::Node* actions = entry.find("actions");
    if (actions == nullptr || !actions->is_sequence()) {
      found.error("O0604", fmt::format("the ERT entry of `{}` has no list `actions`", component),
                  actions != nullptr ? actions->where : entry.where);
      complete_ = false;
      return;
    }
    for (const yaml::Node& action : actions->items) {
      const yaml::Node* name = action.find("name");
      if (name == nullptr || !name->is_scalar()) {
        found.error("O0604", fmt::format("an action of `{}` has no name", component), action.where);
        complete_ = false;
        continue;
      }
      const auto energy = figure(action, "energy", fmt::format("action `{}` of `{}`", name->scalar, component), found);
      complete_ = complete_ && energy.has_value();
      if (energy) energies_[name->scalar].emplace_back(destinations(action), *energy);
    }
  }

  // The first of `names` that the entry has, or nothing.
  std::optional<double> find(std::initializer_list<std::string_view> names) const {
    for (std::string_view name : names) {
      const auto known = energies_.find(name);
      if (known == energies_.end()) continue;
      double largest = 0;
      for (const auto& [count, energy] : known->second) largest = std::max(largest, energy);
      return largest;
    }
    return std::nullopt;
  }
  double demand(std::string_view what, std::initializer_list<std::string_view> names) const {
    if (const auto energy = find(names)) return *energy;
    if (!complete_) return 0;
    std::vector<std::string> wanted(names.begin(), names.end());
    std::vector<std::string> present;
    for (const auto& [name, entries] : energies_) present.push_back(name);
    auto& diagnostic =
        found_.error("O0603", fmt::format("the ERT prices no `{}` of `{}`", what, component_), entry_.where);
    diagnostic.note(fmt::format("looked for {}", quoted_list(wanted)));
    suggest(diagnostic, what, present, "the entry has");
    return 0;
  }
  std::map<std::string, std::map<base::Count, double>> by_destinations() const {
    std::map<std::string, std::map<base::Count, double>> tables;
    for (const auto& [name, entries] : energies_) {
      for (const auto& [count, energy] : entries) {
        double& cell = tables[name].try_emplace(count, energy).first->second;
        cell = std::max(cell, energy);
      }
    }
    return tables;
  }

 private:
  base::Count destinations(const yaml::Node& action) const {
    const yaml::Node* arguments = action.find("arguments");
    const yaml::Node* count = arguments == nullptr ? nullptr : arguments->find("num_destinations");
    if (count == nullptr) return 1;
    return as_count(*count, Scope(), "num_destinations", found_).value_or(1);
  }

  const yaml::Node& entry_;
  const std::string& component_;
  base::Diagnostics& found_;
  bool complete_ = true;
  std::map<std::string, std::vector<std::pair<base::Count, double>>, std::less<>> energies_;
};

std::vector<std::string> component_names(const machine::Chip& chip) {
  std::vector<std::string> names;
  for (const auto& storage : chip.storages) names.push_back(storage.name);
  for (const auto& network : chip.networks) names.push_back(network.name);
  names.push_back(chip.compute.name);
  return names;
}

void missing(const std::string& component, const base::Location& where, const Table& table, const base::Location& ert,
             base::Diagnostics& found) {
  auto& diagnostic = found.error("O0602", fmt::format("the ERT has no entry for `{}`", component), where);
  diagnostic.also(ert, "the ERT");
  suggest(diagnostic, component, table.names(), "entries");
}

}  // namespace

void apply_energies(const yaml::Node& ert, machine::Chip& chip, base::Diagnostics& found) {
  Table table(ert, "ERT", found);
  for (machine::Storage& storage : chip.storages) {
    const yaml::Node* entry = table.use(storage.name);
    if (storage.energy_from_user) continue;
    if (entry == nullptr) {
      if (!storage.pass_through) missing(storage.name, storage.where, table, ert.where, found);
      continue;
    }
    const Actions actions(*entry, storage.name, found);
    storage.energy.leak_pj_per_cycle = actions.find({"leak"}).value_or(0);
    if (storage.pass_through) {  // reads and writes nothing, but stats.txt says what an access would cost
      storage.energy.read_pj = actions.find({"random_read", "read"}).value_or(0);
      continue;
    }
    storage.energy.read_pj = actions.demand("read", {"random_read", "read"});
    storage.energy.write_pj = actions.demand("write", {"random_fill", "random_write", "fill", "write"});
    storage.energy.update_pj = actions.demand("update", {"random_update", "random_write", "update", "write"});
  }
  for (machine::Network& network : chip.networks) {
    const yaml::Node* entry = table.use(network.name);
    if (entry != nullptr) {
      network.energy_pj = Actions(*entry, network.name, found).by_destinations();
    } else if (network.class_name.find("SimpleMulticast") != std::string::npos) {
      missing(network.name, network.where, table, ert.where, found);
    }
  }
  if (const yaml::Node* entry = table.use(chip.compute.name)) {
    const Actions actions(*entry, chip.compute.name, found);
    chip.compute.compute_pj = actions.demand("compute", {"random_compute", "compute", "mac_random"});
    chip.compute.leak_pj_per_cycle = actions.find({"leak"}).value_or(0);
  } else if (!chip.compute.name.empty()) {
    missing(chip.compute.name, chip.compute.where, table, ert.where, found);
  }
  table.use("wire");
  table.warn_unused(component_names(chip));
}

void apply_areas(const yaml::Node& art, machine::Chip& chip, base::Diagnostics& found) {
  Table table(art, "ART", found);
  const auto apply = [&](const std::string& name, std::optional<double>& area, const base::Location& where,
                         bool expected) {
    if (const yaml::Node* entry = table.use(name)) {
      area = figure(*entry, "area", fmt::format("`{}`", name), found);
    } else if (expected) {
      auto& diagnostic = found.warning("O0608", fmt::format("the ART has no area of `{}`", name), where);
      suggest(diagnostic, name, table.names(), "entries");
    }
  };
  for (machine::Storage& storage : chip.storages) {
    apply(storage.name, storage.area_um2, storage.where, !storage.pass_through);
  }
  for (machine::Network& network : chip.networks) apply(network.name, network.area_um2, network.where, false);
  if (!chip.compute.name.empty()) apply(chip.compute.name, chip.compute.area_um2, chip.compute.where, true);
  table.warn_unused(component_names(chip));
}

}  // namespace orrery::formats::timeloop
