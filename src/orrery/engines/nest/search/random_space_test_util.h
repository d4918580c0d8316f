// Random map spaces over the nests and chips of random_nest_test_util.h. Test-only.
#pragma once

#include <vector>

#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest::testing {

// Constraints of every kind, most of them absent, so that most spaces are not empty.
inline Mapspace random_space(Dice& dice, const workload::Einsum& einsum, const machine::Chip& chip) {
  Mapspace space;
  const int levels = static_cast<int>(chip.storages.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const auto add = [&](Constraint constraint) { space.constraints.push_back(std::move(constraint)); };
  for (int level = 0; level < levels; ++level) {
    for (const bool spatial : {false, true})
      for (int d = 0; d < dimensions; ++d) {
        if (!dice.once_in(6)) continue;
        Constraint constraint;
        constraint.level = level;
        constraint.spatial = spatial;
        constraint.dimension = d;
        const auto divisors = base::divisors(einsum.dimensions[d].bound);
        constraint.value = divisors[dice(0, static_cast<base::Count>(divisors.size()) - 1)];
        constraint.comparison = static_cast<Comparison>(dice(0, 2));
        if (constraint.comparison == Comparison::kAtLeast && !dice.once_in(3)) constraint.value = 1;
        add(constraint);
      }
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      const bool outermost = level == levels - 1;
      if (!dice.once_in(outermost ? 1 : 3)) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kKeep;
      constraint.level = level;
      constraint.dataspace = static_cast<int>(s);
      constraint.keep = outermost ? !dice.once_in(12) : dice(0, 1) == 1;
      add(constraint);
    }
    for (const bool spatial : {false, true}) {
      if (!dice.once_in(4)) continue;
      Constraint constraint;
      constraint.kind = Constraint::Kind::kOrder;
      constraint.level = level;
      constraint.spatial = spatial;
      const std::vector<int> order = dice.order(dimensions);
      const int inner = static_cast<int>(dice(0, dimensions)), outer = static_cast<int>(dice(0, dimensions - inner));
      constraint.inner.assign(order.begin(), order.begin() + inner);
      constraint.outer.assign(order.end() - outer, order.end());
      add(constraint);
    }
    if (dice.once_in(6)) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kSplit;
      constraint.level = level;
      constraint.spatial = true;
      constraint.value = dice(0, dimensions);
      add(constraint);
    }
    if (dice.once_in(8)) {
      Constraint constraint;
      constraint.kind = Constraint::Kind::kMinParallelism;
      constraint.level = level;
      constraint.spatial = true;
      constraint.fraction = dice.hundredths(0, 60);
      add(constraint);
    }
  }
  if (dice.once_in(4)) {
    space.reuse.resize(levels);
    const auto all = static_cast<base::Count>((1u << einsum.dataspaces.size()) - 1);
    for (ReuseRules& rules : space.reuse) {
      if (dice.once_in(3)) rules.no_temporal_reuse = static_cast<std::uint32_t>(dice(0, all));
      if (dice.once_in(3)) rules.no_spatial_sharing = static_cast<std::uint32_t>(dice(0, all));
      if (dice.once_in(3)) rules.read_first_update = static_cast<std::uint32_t>(dice(0, all));
    }
  }
  return space;
}

struct Instance {
  workload::Einsum einsum;
  machine::Chip chip;
  Mapspace space;
  ModelOptions options;
};

// What another code's model does otherwise, less link transfers: these have a search of their own.
inline ModelOptions random_original(Dice& dice) {
  ModelOptions options = dice(0, 1) == 1 ? ModelOptions::timeloop() : ModelOptions::factorflow();
  options.link_transfers = false;
  return options;
}

inline Instance random_instance(Dice& dice) {
  Instance instance;
  instance.einsum = random_einsum(dice, 8);
  instance.chip = random_chip(dice);
  instance.space = random_space(dice, instance.einsum, instance.chip);
  if (dice.once_in(3)) instance.options = random_original(dice);
  if (dice.once_in(4))
    for (workload::Dataspace& dataspace : instance.einsum.dataspaces) dataspace.bits = dice.pick({0, 4, 6, 8, 16, 24});
  return instance;
}

// Objectives to compare searches by.
inline std::vector<std::vector<Metric>> objectives() {
  return {{Metric::kEdp},
          {Metric::kEnergy},
          {Metric::kDelay},
          {Metric::kDelay, Metric::kEnergy},
          {Metric::kEdp, Metric::kDelay, Metric::kEnergy}};
}

}  // namespace orrery::nest::testing
