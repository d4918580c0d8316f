#include "orrery/formats/timeloop/architecture/energy_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "orrery/describe/machine/ranges.h"
#include "orrery/formats/timeloop/architecture/prices.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

// "System.Chip.PE[0..15]" -> "PE"; the range may hold dots.
std::string component_of(std::string_view entry) {
  if (!entry.empty() && entry.back() == ']') entry = entry.substr(0, entry.rfind('['));
  const std::size_t dot = entry.rfind('.');
  return std::string(dot == std::string_view::npos ? entry : entry.substr(dot + 1));
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

std::optional<double> figure(const yaml::Node& owner, std::string_view key, const char* unit, const std::string& of,
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
  if (value && !machine::in_range(*value)) {
    found.error("O0609", fmt::format("the {} of {} is out of range", key, of), node->where)
        .note(machine::range_broken(*value, unit))
        .hint(fmt::format("figures of the tables are in {}", unit));
    return std::nullopt;
  }
  return value;
}

// An ERT document as a source of prices.
class EnergyTable : public PriceSource {
 public:
  EnergyTable(const yaml::Node& document, base::Diagnostics& found)
      : document_(document), found_(found), table_(document, "ERT", found) {}

  bool has(const std::string& component) override { return table_.use(component) != nullptr; }

  Prices prices(const std::string& component) override {
    const yaml::Node& entry = *table_.use(component);
    Prices prices;
    complete_ = true;
    const yaml::Node* actions = entry.find("actions");
    if (actions == nullptr || !actions->is_sequence()) {
      found_.error("O0604", fmt::format("the ERT entry of `{}` has no list `actions`", component),
                   actions != nullptr ? actions->where : entry.where);
      complete_ = false;
      return prices;
    }
    for (const yaml::Node& action : actions->items) {
      const yaml::Node* name = action.find("name");
      if (name == nullptr || !name->is_scalar()) {
        found_.error("O0604", fmt::format("an action of `{}` has no name", component), action.where);
        complete_ = false;
        continue;
      }
      const auto energy =
          figure(action, "energy", "pJ", fmt::format("action `{}` of `{}`", name->scalar, component), found_);
      complete_ = complete_ && energy.has_value();
      if (energy) prices.add(name->scalar, destinations(action), *energy);
    }
    actions_ = prices.actions();
    dearest_ = prices.dearest();
    return prices;
  }

  void no_entry(const std::string& component, const base::Location& where) override {
    auto& diagnostic = found_.error("O0602", fmt::format("the ERT has no entry for `{}`", component), where);
    diagnostic.also(document_.where, "the ERT");
    suggest(diagnostic, component, table_.names(), "entries");
  }

  void no_action(const std::string& component, std::string_view what, ActionNames names) override {
    if (!complete_) return;
    const std::vector<std::string> wanted(names.begin(), names.end());
    auto& diagnostic = found_.error("O0603", fmt::format("the ERT prices no `{}` of `{}`", what, component),
                                    table_.use(component)->where);
    diagnostic.note(fmt::format("looked for {}", quoted_list(wanted)));
    suggest(diagnostic, what, actions_, "the entry has");
  }

  // As Timeloop, which keeps the largest of an entry's energies for its accesses until one has its own.
  double instead_of(const std::string& component, std::string_view what, ActionNames names) override {
    if (!dearest_) no_action(component, what, names);
    if (!dearest_ || !complete_) return 0;
    found_
        .warning("O0603",
                 fmt::format("the ERT prices no `{}` of `{}`: its `{}` stands for it, the dearest of its actions", what,
                             component, dearest_->first),
                 table_.use(component)->where)
        .hint(fmt::format("add an action `{}` with its energy", what));
    return dearest_->second;
  }

  void warn_unused(const std::vector<std::string>& components) {
    table_.use("wire");
    table_.warn_unused(components);
  }

 private:
  base::Count destinations(const yaml::Node& action) const {
    const yaml::Node* arguments = action.find("arguments");
    const yaml::Node* count = arguments == nullptr ? nullptr : arguments->find("num_destinations");
    if (count == nullptr) return 1;
    return as_count(*count, Scope(), "num_destinations", found_).value_or(1);
  }

  const yaml::Node& document_;
  base::Diagnostics& found_;
  Table table_;
  bool complete_ = true;              // of the component asked for last: all its actions could be read
  std::vector<std::string> actions_;  // its actions
  std::optional<std::pair<std::string, double>> dearest_;
};

std::vector<std::string> component_names(const machine::Chip& chip) {
  std::vector<std::string> names;
  for (const auto& storage : chip.storages) names.push_back(storage.name);
  for (const auto& network : chip.networks) names.push_back(network.name);
  names.push_back(chip.compute.name);
  return names;
}

}  // namespace

void apply_energies(const yaml::Node& ert, machine::Chip& chip, base::Diagnostics& found) {
  EnergyTable table(ert, found);
  apply_prices(table, chip);
  table.warn_unused(component_names(chip));
}

std::optional<Prices> prices_in(const yaml::Node& ert, const std::string& component) {
  base::Diagnostics said_before;
  EnergyTable table(ert, said_before);
  if (!table.has(component)) return std::nullopt;
  return table.prices(component);
}

void apply_areas(const yaml::Node& art, machine::Chip& chip, base::Diagnostics& found) {
  Table table(art, "ART", found);
  const auto apply = [&](const std::string& name, std::optional<double>& area, const base::Location& where,
                         bool expected) {
    if (const yaml::Node* entry = table.use(name)) {
      area = figure(*entry, "area", "um^2", fmt::format("`{}`", name), found);
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
