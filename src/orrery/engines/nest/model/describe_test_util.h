// A problem in full, as text from which it can be built again by hand. Test-only.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/engines/nest/search/random_space_test_util.h"

namespace orrery::nest::testing {

inline std::string describe(const workload::Einsum& einsum) {
  std::string out = "einsum:";
  for (const workload::Dimension& dimension : einsum.dimensions)
    out += fmt::format(" {}={}", dimension.name, dimension.bound);
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    out += "; " + dataspace.name;
    for (const workload::Rank& rank : dataspace.ranks) {
      std::string sum;
      for (const workload::Term& term : rank.terms)
        sum += fmt::format("{}{}{}", sum.empty() ? "" : "+",
                           term.coefficient == 1 ? "" : fmt::format("{}*", term.coefficient),
                           einsum.dimensions[term.dimension].name);
      out += "[" + sum + "]";
    }
    if (dataspace.read_write) out += " read_write";
    if (dataspace.bits > 0) out += fmt::format(" {} bits", dataspace.bits);
  }
  return out + "\n";
}

inline std::string describe(const machine::Chip& chip) {
  std::string out = "chip, innermost first:\n";
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const machine::Storage& storage = chip.storages[i];
    out += fmt::format("  {} {}: mesh {} x {}, block {}, read {} write {} update {} leak {}", i, storage.name,
                       storage.mesh_x, storage.mesh_y, storage.block_size, storage.energy.read_pj,
                       storage.energy.write_pj, storage.energy.update_pj, storage.energy.leak_pj_per_cycle);
    const auto add = [&](const char* name, const auto& value) {
      if (value) out += fmt::format(", {} {}", name, *value);
    };
    add("capacity", storage.capacity_words);
    add("read bw", storage.read_words_per_cycle);
    add("write bw", storage.write_words_per_cycle);
    add("shared bw", storage.shared_words_per_cycle);
    if (storage.multiple_buffering != 1) out += fmt::format(", buffering {}", storage.multiple_buffering);
    if (storage.min_utilization != 0) out += fmt::format(", min utilization {}", storage.min_utilization);
    if (storage.pass_through) out += ", pass-through";
    if (storage.network_fill_latency_cycles + storage.network_drain_latency_cycles > 0)
      out += fmt::format(", latencies {} and {}", storage.network_fill_latency_cycles,
                         storage.network_drain_latency_cycles);
    for (const auto& [name, network] :
         {std::pair{"read", &storage.network_read}, std::pair{"update", &storage.network_update},
          std::pair{"fill", &storage.network_fill}, std::pair{"drain", &storage.network_drain}})
      if (!network->empty()) out += fmt::format(", {} by {}", name, *network);
    out += "\n";
  }
  out += fmt::format("  compute: mesh {} x {}, {} pJ, leak {}\n", chip.compute.mesh_x, chip.compute.mesh_y,
                     chip.compute.compute_pj, chip.compute.leak_pj_per_cycle);
  for (const machine::Network& network : chip.networks)
    for (const auto& [action, table] : network.energy_pj)
      out += fmt::format("  network {}{}: {} {}\n", network.name, network.per_dataspace ? " (per dataspace)" : "",
                         action, table);
  return out;
}

inline std::string describe(const Constraint& constraint) {
  const char* compared = constraint.comparison == Comparison::kEqual    ? "="
                         : constraint.comparison == Comparison::kAtMost ? "<="
                                                                        : ">=";
  const std::string where = fmt::format("level {} {}", constraint.level, constraint.spatial ? "spatial" : "temporal");
  switch (constraint.kind) {
    case Constraint::Kind::kFactor:
      return fmt::format("{}: dimension {} {} {}", where, constraint.dimension, compared, constraint.value);
    case Constraint::Kind::kOrder:
      return fmt::format("{}: inner {}, outer {}", where, constraint.inner, constraint.outer);
    case Constraint::Kind::kSplit:
      return fmt::format("level {}: split {}", constraint.level, constraint.value);
    case Constraint::Kind::kKeep:
      return fmt::format("level {}: {} {}", constraint.level, constraint.keep ? "keep" : "bypass",
                         constraint.dataspace);
    case Constraint::Kind::kMinParallelism:
      return fmt::format("level {}: parallelism >= {}", constraint.level, constraint.fraction);
  }
  return {};
}

inline std::string describe(const Instance& instance) {
  std::string out = describe(instance.einsum) + describe(instance.chip) + "constraints:\n";
  for (const Constraint& constraint : instance.space.constraints) out += "  " + describe(constraint) + "\n";
  for (std::size_t i = 0; i < instance.space.reuse.size(); ++i) {
    const ReuseRules& rules = instance.space.reuse[i];
    out += fmt::format("  level {}: no_temporal_reuse {:#x}, no_spatial_sharing {:#x}, read_first_update {:#x}\n", i,
                       rules.no_temporal_reuse, rules.no_spatial_sharing, rules.read_first_update);
  }
  const ModelOptions& options = instance.options;
  return out + fmt::format(
                   "options: omit_compute_leakage {}, charge_pass_through {}, missing_multicast_is_free {}, "
                   "drain_latency_is_fill {}, throttle_in_doubles {}, count_drain_reads {}, "
                   "fractional_blocks {}, no_network_latency {}\n",
                   options.omit_compute_leakage, options.charge_pass_through, options.missing_multicast_is_free,
                   options.drain_latency_is_fill, options.throttle_in_doubles, options.count_drain_reads,
                   options.fractional_blocks, options.no_network_latency);
}

inline std::string describe(const Mapping& mapping) {
  std::string out = "mapping, innermost first:\n";
  for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
    const LevelMapping& level = mapping.levels[i];
    out += fmt::format("  {}: temporal {} order {}, spatial {} order {} split {}, keep {:#x}\n", i, level.temporal,
                       level.temporal_order, level.spatial, level.spatial_order, level.split, level.keep);
  }
  return out;
}

}  // namespace orrery::nest::testing
