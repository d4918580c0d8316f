// Makes a failing problem small, so that what a test prints can be worked out by hand. Test-only.
//
// Greedy: every simplification that keeps the failure is kept, until none does.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest::testing {

// Every problem that is one simplification away.
inline std::vector<Instance> simpler(const Instance& instance) {
  std::vector<Instance> out;
  const auto change = [&](const auto& how) {
    Instance copy = instance;
    how(copy);
    out.push_back(std::move(copy));
  };
  for (std::size_t k = 0; k < instance.space.constraints.size(); ++k)
    change([&](Instance& copy) {
      copy.space.constraints.erase(copy.space.constraints.begin() + static_cast<std::ptrdiff_t>(k));
    });
  if (!instance.space.reuse.empty()) change([](Instance& copy) { copy.space.reuse.clear(); });
  for (std::size_t i = 0; i < instance.space.reuse.size(); ++i)
    for (std::uint32_t ReuseRules::*rule :
         {&ReuseRules::no_temporal_reuse, &ReuseRules::no_spatial_sharing, &ReuseRules::read_first_update})
      if (instance.space.reuse[i].*rule != 0) change([&](Instance& copy) { copy.space.reuse[i].*rule = 0; });
  for (bool ModelOptions::*option :
       {&ModelOptions::omit_compute_leakage, &ModelOptions::charge_pass_through,
        &ModelOptions::missing_multicast_is_free, &ModelOptions::drain_latency_is_fill,
        &ModelOptions::throttle_in_doubles, &ModelOptions::count_drain_reads, &ModelOptions::no_network_latency})
    if (instance.options.*option) change([&](Instance& copy) { copy.options.*option = false; });
  if (instance.options.fractional_blocks && !instance.options.count_drain_reads)
    change([](Instance& copy) { copy.options.fractional_blocks = false; });
  for (std::size_t d = 0; d < instance.einsum.dimensions.size(); ++d) {
    const base::Count bound = instance.einsum.dimensions[d].bound;
    for (const auto& [prime, exponent] : base::prime_factors(bound))
      change([&, factor = prime](Instance& copy) { copy.einsum.dimensions[d].bound = bound / factor; });
  }
  for (std::size_t s = 0; s < instance.einsum.dataspaces.size(); ++s)
    if (instance.einsum.dataspaces[s].bits > 0) change([&](Instance& copy) { copy.einsum.dataspaces[s].bits = 0; });
  if (!instance.chip.networks.empty())
    change([](Instance& copy) {
      copy.chip.networks.clear();
      for (machine::Storage& storage : copy.chip.storages)
        for (std::string* name :
             {&storage.network_read, &storage.network_update, &storage.network_fill, &storage.network_drain})
          name->clear();
    });
  for (std::size_t i = 0; i < instance.chip.storages.size(); ++i) {
    const machine::Storage& storage = instance.chip.storages[i];
    const auto unset = [&](auto member, const auto& plain) {
      if (storage.*member != plain) change([&](Instance& copy) { copy.chip.storages[i].*member = plain; });
    };
    using machine::Storage;
    unset(&Storage::capacity_words, std::optional<base::Count>());
    unset(&Storage::read_words_per_cycle, std::optional<double>());
    unset(&Storage::write_words_per_cycle, std::optional<double>());
    unset(&Storage::shared_words_per_cycle, std::optional<double>());
    unset(&Storage::block_size, base::Count{1});
    unset(&Storage::multiple_buffering, 1.0);
    unset(&Storage::min_utilization, 0.0);
    unset(&Storage::network_fill_latency_cycles, base::Count{0});
    unset(&Storage::network_drain_latency_cycles, base::Count{0});
    for (double machine::ActionEnergies::*energy :
         {&machine::ActionEnergies::read_pj, &machine::ActionEnergies::write_pj, &machine::ActionEnergies::update_pj,
          &machine::ActionEnergies::leak_pj_per_cycle})
      for (const double plain : {0.0, 1.0})
        if (storage.energy.*energy > plain)
          change([&](Instance& copy) { copy.chip.storages[i].energy.*energy = plain; });
  }
  for (double machine::Compute::*energy : {&machine::Compute::compute_pj, &machine::Compute::leak_pj_per_cycle})
    if (instance.chip.compute.*energy > 0) change([&](Instance& copy) { copy.chip.compute.*energy = 0; });
  return out;
}

// The smallest problem reached from `instance` for which `fails` still holds; at most `most` trials.
inline Instance shrink(Instance instance, const std::function<bool(const Instance&)>& fails, int most = 2000) {
  for (bool smaller = true; smaller && most > 0;) {
    smaller = false;
    for (Instance& candidate : simpler(instance)) {
      if (--most < 0) break;
      if (!fails(candidate)) continue;
      instance = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return instance;
}

}  // namespace orrery::nest::testing
