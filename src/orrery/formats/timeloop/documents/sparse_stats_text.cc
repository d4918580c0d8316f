// "Algorithmic" counts are those of the dense problem. All counts are of an instance that holds nonzeros.
#include "orrery/formats/timeloop/documents/sparse_stats_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/engines/nest/sparse/sparse_design.h"
#include "orrery/formats/timeloop/documents/stats_lines.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::RankCount;
using nest::SplitCount;
using nest::SplitUnits;

constexpr int kColumn = 60;

std::string row(std::string_view name, std::string_view value) {
  return line(8, kColumn, name, value);
}
std::string row(std::string_view name, Sum value) {
  return row(name, fmt::format("{}", value));
}

std::string distribution(const nest::Density& density) {
  switch (density.kind()) {
    case nest::Density::Kind::kStructured:
      return "fixed_structured";
    case nest::Density::Kind::kHypergeometric:
      return "hypergeometric";
    case nest::Density::Kind::kPattern:
      break;
  }
  return density.name();
}

// Outermost rank first; the original's metadata ends with a space.
std::string format_name(const std::string& format) {
  if (format.empty()) return "none";
  std::string lower = format + ' ';
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string ranks_text(const std::vector<RankCount>& units, std::string_view between) {
  std::string out;
  for (std::size_t r = units.size(); r-- > 0;)
    out += fmt::format("            Rank {} (metadata, payload): ({},{}{})\n", r, units[r].metadata, between,
                       units[r].payload);
  return out;
}

std::string units_text(std::string_view name, const std::vector<RankCount>& units) {
  const bool none = std::all_of(units.begin(), units.end(),
                                [](const RankCount& rank) { return rank.metadata == 0 && rank.payload == 0; });
  if (none) return row(name, Sum{0});
  return fmt::format("        {:<{}}\n", name, kColumn) + ranks_text(units, "  ");
}

std::string counts_text(const nest::SparseUse& use) {
  std::string out;
  const auto counts = [&](std::string_view what, Count dense, const SplitCount& split) {
    out += row(fmt::format("Algorithmic scalar {} (per-instance)", what), Sum{dense});
    out += row(fmt::format("Actual scalar {} (per-instance)", what), Sum{split.actual});
    out += row(fmt::format("Gated scalar {} (per-instance)", what), Sum{split.gated});
    out += row(fmt::format("Skipped scalar {} (per-instance)", what), Sum{split.skipped});
  };
  counts("reads", use.dense_reads, use.reads);
  counts("fills", use.dense_fills, use.fills);
  counts("updates", use.dense_updates, use.updates);
  if (use.format.empty()) return out;
  const auto units = [&](std::string_view what, const SplitUnits& split) {
    out += units_text(fmt::format("Actual scalar format {} (per-instance)", what), split.actual);
    out += units_text(fmt::format("Gated scalar format {} (per-instance)", what), split.gated);
    out += units_text(fmt::format("Skipped scalar format {} (per-instance)", what), split.skipped);
  };
  units("reads", use.metadata_reads);
  units("fills", use.metadata_fills);
  units("updates", use.metadata_updates);
  return out;
}

// The original's macro multiplies the last term by 100 only, and one of its lines lacks the parenthesis.
std::string breakdown(double format, bool shared, bool compat) {
  const double data = compat ? 1 - format * 100 : (1 - format) * 100;
  return fmt::format("            Breakdown (Data, Format): ({:.2f}%, {:.2f}%{}\n", data, format * 100,
                     shared && compat ? "" : ")");
}

struct Port {
  Sum words = 0;          // data, and metadata in whole words
  Count metadata = 0;     // words of it
  double share() const {  // of metadata
    return words == 0 ? 0 : static_cast<double>(metadata) / static_cast<double>(words);
  }
};

class TensorText {
 public:
  TensorText(const workload::Dataspace& tensor, const nest::SparseUse& use, const nest::DataspaceCost& cost,
             const nest::StorageCost& level, const machine::Storage& storage)
      : tensor_(tensor), use_(use), cost_(cost), level_(level), storage_(storage) {}

  std::string text(const nest::Density& density, Count compute_cycles, bool compat) const {
    std::string out = fmt::format("    {}:\n", tensor_.name);
    out += row("Partition size", Sum{cost_.partition_words});
    out += row("Tile density distribution", distribution(density));
    out += row("Data tile shape", Sum{use_.dense_words});
    out += row("Max utilized data storage capacity", Sum{use_.most_words});
    out += row("Representation format", format_name(use_.format));
    out += use_.format.empty() ? row("Max utilized Repr format storage capacity", Sum{0})
                               : fmt::format("        {:<{}}\n", "Max utilized Repr format storage capacity", kColumn) +
                                     ranks_text(use_.most_units, " ");
    out += row("Utilized instances (max)", Sum{level_.utilized_instances});
    out += row("Utilized instances (average)", fixed(instances()));
    out += row("Utilized clusters (max)", Sum{storage_.paying(level_.utilized_instances)});
    out += counts_text(use_);
    // Only updates that happen add to what is there.
    const auto dense = static_cast<double>(std::max<Sum>(0, Sum{use_.dense_updates} - cost_.partition_words));
    const double left =
        static_cast<double>(use_.updates.actual) / static_cast<double>(std::max<Count>(1, use_.dense_updates));
    out += row("Temporal reductions (per-instance)",
               fmt::format("{:.0f}", tensor_.read_write ? std::ceil(dense * left) : 0));
    const SplitCount& used = tensor_.read_write ? use_.updates : use_.reads;
    out +=
        row("Address generations (per-cluster)", Sum{used.actual} + used.gated + use_.fills.actual + use_.fills.gated);
    return out + energies() + bandwidths(compute_cycles, compat);
  }

 private:
  double instances() const { return static_cast<double>(level_.utilized_instances) * use_.share; }

  std::string energies() const {
    const double each = instances() > 0 ? cost_.energy_pj / instances() : 0;
    const Sum actual = Sum{use_.reads.actual} + use_.fills.actual + use_.updates.actual;
    std::string out;
    const auto energy = [&](std::string_view what, double pj) { out += row(what, fixed(pj) + " pJ"); };
    energy("Energy (per-scalar-access)", actual > 0 ? each / static_cast<double>(actual) : 0);
    energy("Energy (per-instance)", each);
    energy("Energy (total)", cost_.energy_pj);
    energy("Temporal Reduction Energy (per-instance)", 0);
    energy("Temporal Reduction Energy (total)", 0);
    energy("Address Generation Energy (per-cluster)", 0);
    energy("Address Generation Energy (total)", 0);
    return out + row("Bandwidth Consumption Scale", "1.00");
  }

  Port port(Sum words, Count metadata_bits) const {
    const Count metadata = metadata_bits / std::max(1, storage_.word_bits);
    return {words + metadata, metadata};
  }

  std::string bandwidths(Count compute_cycles, bool compat) const {
    const Port reads = port(Sum{use_.reads.actual} + use_.reads.gated, use_.metadata_read_bits);
    const Port writes = port(Sum{use_.fills.actual} + use_.fills.gated + use_.updates.actual + use_.updates.gated,
                             use_.metadata_write_bits);
    const Port both{reads.words + writes.words,
                    port(0, base::checked_add(use_.metadata_read_bits, use_.metadata_write_bits)).metadata};
    // Of all instances those that hold nonzeros have something to pass.
    const auto rate = [&](const Port& one) {
      return std::max(0.0, std::ceil(static_cast<double>(one.words) * use_.share - 1e-9)) /
             static_cast<double>(std::max<Count>(1, compute_cycles)) * level_.throttle;
    };
    std::string out;
    const auto bandwidth = [&](std::string_view what, const Port& one, double words, bool shared) {
      out += row(fmt::format("Average {} Bandwidth (per-instance)", what), fixed(words) + " words/cycle");
      out += breakdown(one.share(), shared, compat);
      out += row(fmt::format("{} Bandwidth (total)", what),
                 fixed(words * static_cast<double>(level_.utilized_instances)) + " words/cycle");
    };
    bandwidth("Shared", both, rate(reads) + rate(writes), true);
    bandwidth("Read", reads, rate(reads), false);
    bandwidth("Write", writes, rate(writes), false);
    return out;
  }

  const workload::Dataspace& tensor_;
  const nest::SparseUse& use_;
  const nest::DataspaceCost& cost_;
  const nest::StorageCost& level_;
  const machine::Storage& storage_;
};

std::string specs_text(const machine::Storage& storage, const nest::SparseStorage& sparse, std::optional<Count> usable,
                       double leakage_pj) {
  std::string out = section(4, "SPECS");
  const auto spec = [&](std::string_view name, std::string_view value) { out += line(8, 32, name, value); };
  const auto count = [](const std::optional<Count>& value) { return value ? std::to_string(*value) : "-"; };
  const auto energy = [&](std::string_view name, double pj) { spec(name, fixed(pj) + " pJ"); };
  const auto rate = [](const std::optional<double>& value) { return value ? fixed(*value) : "-"; };
  // Rows of metadata; the capacity is after multiple buffering.
  const double depth = static_cast<double>(sparse.metadata_capacity_bits) * storage.multiple_buffering /
                       static_cast<double>(std::max<Count>(1, sparse.metadata_width_bits));
  spec("Technology", storage.is_dram ? "DRAM" : "SRAM");
  spec("Data storage size", count(storage.capacity_words));
  spec("Data word bits", std::to_string(storage.word_bits));
  spec("Data block size", std::to_string(storage.block_size));
  spec("Metadata storage width(bits)", std::to_string(sparse.metadata_width_bits));
  spec("Metadata storage depth", sparse.metadata_width_bits > 0 ? fmt::format("{:.0f}", depth) : "-");
  spec("Cluster size", std::to_string(storage.cluster_size));
  spec("Instances", mesh(storage.instances, storage.mesh_x, storage.mesh_y));
  spec("Shared bandwidth", rate(storage.shared_words_per_cycle));
  spec("Read bandwidth", rate(storage.read_words_per_cycle));
  spec("Write bandwidth", rate(storage.write_words_per_cycle));
  spec("Multiple buffering", fixed(storage.multiple_buffering));
  spec("Effective data storage size", count(usable));
  spec("Min utilization", fixed(storage.min_utilization));
  energy("Vector read energy", storage.energy.read_pj);
  energy("Vector write energy", storage.energy.write_pj);
  energy("Vector metadata read energy", sparse.prices.metadata_read);
  energy("Vector metadata write energy", sparse.prices.metadata_fill);
  energy("(De)compression energy", sparse.prices.decompression);
  energy("Per-instance-cycle leakage", storage.energy_from_user ? 0 : storage.energy.leak_pj_per_cycle);
  spec("Instances sharing power gating", "1.00");
  spec("Non-power-gated utilization", "100.00%");
  energy("Leakage energy (total)", leakage_pj);
  spec("Area", fixed(storage.area_um2.value_or(0)) + " um^2");
  return out;
}

}  // namespace

std::string sparse_compute_text(const machine::Compute& compute, const nest::SparseEvaluation& sparse) {
  const nest::ComputeCost& cost = sparse.evaluation.compute;
  const SplitCount& operations = sparse.compute.operations;
  std::string out = level_head(0, compute.name) + section(4, "SPECS");
  out += line(4, 22, "Word bits", std::to_string(compute.word_bits));
  out += line(4, 22, "Instances", mesh(compute.instances, compute.mesh_x, compute.mesh_y));
  out += line(4, 22, "Compute energy", fixed(compute.compute_pj) + " pJ");
  out += "\n" + section(4, "STATS");
  out += line(4, 29, "Utilized instances (max)", std::to_string(cost.utilized_instances));
  out += line(4, 29, "Utilized instances (average)", std::to_string(cost.utilized_instances));
  out += line(4, 29, "Cycles", std::to_string(cost.cycles));
  out += line(4, 29, "Algorithmic Computes (total)", fmt::format("{:.0f}", sparse.compute.dense));
  out += line(4, 29, "Actual Computes (total)", std::to_string(operations.actual));
  out += line(4, 29, "Gated Computes (total)", std::to_string(operations.gated));
  out += line(4, 29, "Skipped Computes (total)", std::to_string(operations.skipped));
  out += line(4, 29, "Energy (total)", fixed(cost.energy_pj) + " pJ");
  out += line(4, 29, "Area (total)",
              fixed(compute.area_um2.value_or(0) * static_cast<double>(compute.instances)) + " um^2");
  return out + "\n\n";
}

std::string sparse_storage_text(std::size_t number, const workload::Einsum& einsum, const machine::Chip& chip,
                                const nest::SparseEvaluation& sparse, bool compat) {
  const std::size_t level = number - 1;
  const machine::Storage& storage = chip.storages[level];
  const nest::StorageCost& cost = sparse.evaluation.storages[level];
  std::string out = level_head(number, storage.name);
  out +=
      specs_text(storage, sparse.design->storages[level], chip.usable_words(static_cast<int>(level)), cost.leakage_pj);
  out += "\n" + section(4, "STATS");
  out += line(4, 21, "Cycles", std::to_string(cost.cycles));
  out += line(4, 21, "Bandwidth throttling", fixed(cost.throttle));
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
    const nest::SparseUse& use = sparse.uses[level][s];
    if (!use.kept || Sum{use.dense_reads} + use.dense_fills + use.dense_updates == 0) continue;
    out += TensorText(einsum.dataspaces[s], use, cost.dataspaces[s], cost, storage)
               .text(sparse.design->densities[s], sparse.evaluation.compute.cycles, compat);
  }
  return out + "\n";
}

}  // namespace orrery::formats::timeloop
