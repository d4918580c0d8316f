#include "orrery/formats/timeloop/architecture/prices.h"

#include <algorithm>

namespace orrery::formats::timeloop {

std::optional<double> Prices::find(ActionNames names) const {
  for (std::string_view name : names) {
    const auto known = energies_.find(name);
    if (known == energies_.end()) continue;
    double largest = 0;
    for (const auto& [count, energy] : known->second) largest = std::max(largest, energy);
    return largest;
  }
  return std::nullopt;
}

std::map<std::string, std::map<base::Count, double>> Prices::by_destinations() const {
  std::map<std::string, std::map<base::Count, double>> tables;
  for (const auto& [name, entries] : energies_) {
    for (const auto& [count, energy] : entries) {
      double& cell = tables[name].try_emplace(count, energy).first->second;
      cell = std::max(cell, energy);
    }
  }
  return tables;
}

std::vector<std::string> Prices::actions() const {
  std::vector<std::string> names;
  for (const auto& [name, entries] : energies_) names.push_back(name);
  return names;
}

std::optional<std::pair<std::string, double>> Prices::dearest() const {
  std::optional<std::pair<std::string, double>> most;
  for (const auto& [name, entries] : energies_) {
    if (std::find(kLeakNames.begin(), kLeakNames.end(), name) != kLeakNames.end()) continue;
    for (const auto& [count, energy] : entries)
      if (!most || energy > most->second) most = {name, energy};
  }
  return most;
}

void apply_prices(PriceSource& source, machine::Chip& chip) {
  for (machine::Storage& storage : chip.storages) {
    const bool has = source.has(storage.name);
    if (storage.energy_from_user) continue;
    if (!has) {
      if (!storage.pass_through) source.no_entry(storage.name, storage.where);
      continue;
    }
    const Prices prices = source.prices(storage.name);
    storage.energy.leak_pj_per_cycle = prices.find(kLeakNames).value_or(0);
    if (storage.pass_through) {  // reads and writes nothing, but stats.txt says what an access would cost
      storage.energy.read_pj = prices.find(kReadNames).value_or(0);
      continue;
    }
    const auto demand = [&](std::string_view what, ActionNames names) -> double {
      const auto energy = prices.find(names);
      if (energy || storage.capacity_words == base::Count{0}) return energy.value_or(0);
      return source.instead_of(storage.name, what, names);
    };
    storage.energy.read_pj = demand("read", kReadNames);
    storage.energy.write_pj = demand("write", kWriteNames);
    storage.energy.update_pj = demand("update", kUpdateNames);
  }
  for (machine::Network& network : chip.networks) {
    if (source.has(network.name)) {
      network.energy_pj = source.prices(network.name).by_destinations();
    } else if (network.class_name.find("SimpleMulticast") != std::string::npos) {
      source.no_entry(network.name, network.where);
    }
  }
  machine::Compute& compute = chip.compute;
  if (source.has(compute.name)) {
    const Prices prices = source.prices(compute.name);
    const auto energy = prices.find(kComputeNames);
    if (!energy) source.no_action(compute.name, "compute", kComputeNames);
    compute.compute_pj = energy.value_or(0);
    compute.leak_pj_per_cycle = prices.find(kLeakNames).value_or(0);
  } else if (!compute.name.empty()) {
    source.no_entry(compute.name, compute.where);
  }
}

}  // namespace orrery::formats::timeloop
