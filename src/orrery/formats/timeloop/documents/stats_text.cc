// The layout follows the original's printed files, not its code. What it hides is hidden here too: storages
// without traffic and energy, a compute unit without energy. Figures that Orrery's model has no notion of
// (power gating, address generation, temporal reduction energy) are printed as the constants that the original
// prints for chips without them.
#include "orrery/formats/timeloop/documents/stats_text.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "orrery/engines/nest/sparse/sparse_evaluation.h"
#include "orrery/formats/timeloop/documents/sparse_stats_text.h"
#include "orrery/formats/timeloop/documents/stats_lines.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
std::string optional_fixed(const std::optional<double>& value) {
  return value ? fixed(*value) : "-";
}

Sum accesses(const nest::DataspaceCost& cost) {
  return Sum{cost.reads} + cost.fills + cost.updates;
}

// Words read, filled and updated at a level, all instances, each dataspace by itself; of sparse tensors those of the
// dense problem.
std::vector<Sum> scalar_accesses(const nest::Evaluation& evaluation, const nest::SparseEvaluation* sparse,
                                 std::size_t level) {
  const nest::StorageCost& cost = evaluation.storages[level];
  std::vector<Sum> words(cost.dataspaces.size(), 0);
  for (std::size_t s = 0; s < words.size(); ++s) {
    if (!cost.dataspaces[s].kept) continue;
    words[s] = accesses(cost.dataspaces[s]) * cost.utilized_instances;
    if (sparse == nullptr) continue;
    const nest::SparseUse& use = sparse->uses[level][s];
    words[s] = static_cast<Sum>(static_cast<double>(cost.utilized_instances) * use.share *
                                static_cast<double>(Sum{use.dense_reads} + use.dense_fills + use.dense_updates));
  }
  return words;
}
Sum sum_of(const std::vector<Sum>& words) {
  return std::accumulate(words.begin(), words.end(), Sum{0});
}

// Bytes that so many values of each dataspace have in a storage.
double bytes_of(const workload::Einsum& einsum, const std::vector<Sum>& words, int word_bits) {
  double bits = 0;
  for (std::size_t s = 0; s < words.size(); ++s)
    bits += static_cast<double>(words[s]) *
            static_cast<double>(einsum.dataspaces[s].bits > 0 ? einsum.dataspaces[s].bits : word_bits);
  return bits / 8;
}

std::string compute_text(const machine::Compute& compute, const nest::ComputeCost& cost) {
  std::string out = level_head(0, compute.name) + section(4, "SPECS");
  out += line(4, 22, "Word bits", std::to_string(compute.word_bits));
  out += line(4, 22, "Instances", mesh(compute.instances, compute.mesh_x, compute.mesh_y));
  out += line(4, 22, "Compute energy", fixed(compute.compute_pj) + " pJ");
  out += "\n" + section(4, "STATS");
  out += line(4, 24, "Utilized instances", std::to_string(cost.utilized_instances));
  out += line(4, 24, "Computes (total)", std::to_string(cost.operations));
  out += line(4, 24, "Cycles", std::to_string(cost.cycles));
  out += line(4, 24, "Energy (total)", fixed(cost.energy_pj) + " pJ");
  out += line(4, 24, "Area (total)",
              fixed(compute.area_um2.value_or(0) * static_cast<double>(compute.instances)) + " um^2");
  return out + "\n";
}

std::string dataspace_text(const std::string& name, bool read_write, const nest::DataspaceCost& cost,
                           const nest::StorageCost& level, const machine::Storage& storage) {
  const auto instances = static_cast<double>(level.utilized_instances);
  const auto cycles = static_cast<double>(std::max<Count>(1, level.cycles));
  const double per_instance = cost.energy_pj / instances;
  const Sum scalar = accesses(cost);
  // What is added to a value that is already there: every update but the first of each element.
  const Count reductions = read_write ? std::max<Count>(0, cost.updates - cost.partition_words) : 0;

  std::string out = fmt::format("    {}:\n", name);
  const auto count = [&](std::string_view what, Sum value) { out += line(8, 41, what, fmt::format("{}", value)); };
  const auto energy = [&](std::string_view what, double value) { out += line(8, 41, what, fixed(value) + " pJ"); };
  const auto bandwidth = [&](std::string_view what, Sum words) {
    const double rate = static_cast<double>(words) / cycles;
    out += line(8, 41, fmt::format("{} Bandwidth (per-instance)", what), fixed(rate) + " words/cycle");
    out += line(8, 41, fmt::format("{} Bandwidth (total)", what), fixed(rate * instances) + " words/cycle");
  };
  count("Partition size", cost.partition_words);
  count("Utilized capacity", cost.tile_words);
  count("Utilized instances (max)", level.utilized_instances);
  count("Utilized clusters (max)", storage.paying(level.utilized_instances));
  count("Scalar reads (per-instance)", cost.reads);
  count("Scalar fills (per-instance)", cost.fills);
  count("Scalar updates (per-instance)", cost.updates);
  count("Temporal reductions (per-instance)", reductions);
  // The original counts a read-write element's read and update at one address once.
  count("Address generations (per-cluster)", read_write ? Sum{cost.updates} + cost.fills : scalar);
  energy("Energy (per-scalar-access)", scalar > 0 ? per_instance / static_cast<double>(scalar) : 0);
  energy("Energy (per-instance)", per_instance);
  energy("Energy (total)", cost.energy_pj);
  energy("Temporal Reduction Energy (per-instance)", 0);
  energy("Temporal Reduction Energy (total)", 0);
  energy("Address Generation Energy (per-cluster)", 0);
  energy("Address Generation Energy (total)", 0);
  out += line(8, 41, "Bandwidth Consumption Scale", "1.00");
  bandwidth("Shared", scalar);
  bandwidth("Read", cost.reads);
  bandwidth("Write", Sum{cost.fills} + cost.updates);
  return out;
}

std::string storage_text(std::size_t number, const workload::Einsum& einsum, const machine::Chip& chip,
                         const nest::StorageCost& cost) {
  const machine::Storage& storage = chip.storages[number - 1];
  const auto usable = chip.usable_words(static_cast<int>(number) - 1);
  const double dearest = std::max({storage.energy.read_pj, storage.energy.write_pj, storage.energy.update_pj});
  const double leak = storage.energy_from_user ? 0 : storage.energy.leak_pj_per_cycle;

  std::string out = level_head(number, storage.name) + section(4, "SPECS");
  const auto spec = [&](std::string_view name, std::string_view value) { out += line(8, 32, name, value); };
  spec("Technology", storage.is_dram ? "DRAM" : "SRAM");
  spec("Size", storage.capacity_words ? std::to_string(*storage.capacity_words) : "-");
  spec("Word bits", std::to_string(storage.word_bits));
  spec("Block size", std::to_string(storage.block_size));
  spec("Cluster size", std::to_string(storage.cluster_size));
  spec("Instances", mesh(storage.instances, storage.mesh_x, storage.mesh_y));
  spec("Shared bandwidth", optional_fixed(storage.shared_words_per_cycle));
  spec("Read bandwidth", optional_fixed(storage.read_words_per_cycle));
  spec("Write bandwidth", optional_fixed(storage.write_words_per_cycle));
  spec("Multiple buffering", fixed(storage.multiple_buffering));
  spec("Effective size", usable ? std::to_string(*usable) : "-");
  spec("Min utilization", fixed(storage.min_utilization));
  spec("Vector access energy", fixed(dearest) + " pJ");
  spec("Vector access energy source", storage.energy_from_user ? "user" : "ERT");
  spec("Per-instance-cycle leakage", fixed(leak) + " pJ");
  spec("Instances sharing power gating", "1.00");
  spec("Non-power-gated utilization", "100.00%");
  spec("Leakage energy (total)", fixed(cost.leakage_pj) + " pJ");
  spec("Area", fixed(storage.area_um2.value_or(0)) + " um^2");
  out += "\n" + section(4, "STATS");
  out += line(4, 21, "Cycles", std::to_string(cost.cycles));
  out += line(4, 21, "Bandwidth throttling", fixed(cost.throttle));
  for (std::size_t s = 0; s < cost.dataspaces.size(); ++s)
    if (cost.dataspaces[s].kept && accesses(cost.dataspaces[s]) > 0)
      out +=
          dataspace_text(einsum.dataspaces[s].name, einsum.dataspaces[s].read_write, cost.dataspaces[s], cost, storage);
  return out + "\n";
}

// Networks by name, as the original keeps them.
std::vector<std::size_t> by_name(const machine::Chip& chip) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < chip.networks.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return chip.networks[a].name < chip.networks[b].name; });
  return order;
}

std::string network_text(std::size_t number, const workload::Einsum& einsum, const machine::Chip& chip,
                         const machine::Network& network, const nest::NetworkCost& cost) {
  int connection = 0;  // bit 0: carries reads and fills, bit 1: updates and drains
  Count fanout = 1;
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const machine::Storage& storage = chip.storages[i];
    const bool below = storage.network_read == network.name || storage.network_update == network.name;
    if (below) fanout = chip.fanout_x(static_cast<int>(i)) * chip.fanout_y(static_cast<int>(i));
    if (storage.network_read == network.name || storage.network_fill == network.name) connection |= 1;
    if (storage.network_update == network.name || storage.network_drain == network.name) connection |= 2;
  }
  std::string out = section(0, fmt::format("Network {}", number)) + network.name + "\n\n" + section(4, "SPECS");
  out += line(8, 16, "Type", network.class_name);
  out += line(8, 16, "ConnectionType", std::to_string(connection));
  out += line(8, 16, "Word bits", std::to_string(network.word_bits));
  out += line(8, 18, "Action Name", network.action_name);
  out += "\n" + section(4, "STATS");
  for (std::size_t s = 0; s < cost.transfers.size(); ++s) {
    out += fmt::format("    {}:\n", einsum.dataspaces[s].name);
    out += line(8, 40, "Fanout", std::to_string(fanout));
    out += line(8, 40, "Multicast factor", std::to_string(cost.destinations[s]));
    out += line(8, 40, "Ingresses", fixed(static_cast<double>(cost.transfers[s])));
    out += line(8, 40, "Energy (per-instance)", fixed(cost.dataspace_energy_pj[s]) + " pJ");
    out += line(8, 40, "Energy (total)", fixed(cost.dataspace_energy_pj[s]) + " pJ");
  }
  return out + "\n";
}

// Words of every dataspace, as much of each as the outermost storage that keeps it holds: all of it, unless a fused
// layer's dataspace never leaves the chip.
std::vector<Sum> compulsory_words(const workload::Einsum& einsum, const nest::Evaluation& evaluation) {
  std::vector<Sum> words(einsum.dataspaces.size(), 0);
  for (std::size_t s = 0; s < words.size(); ++s)
    for (const nest::StorageCost& level : evaluation.storages)
      if (level.dataspaces[s].kept) words[s] = level.dataspaces[s].tile_words;
  return words;
}

double area_mm2(const machine::Chip& chip) {
  double sum = chip.compute.area_um2.value_or(0) * static_cast<double>(chip.compute.instances);
  for (const machine::Storage& storage : chip.storages)
    if (!storage.pass_through) sum += storage.area_um2.value_or(0) * static_cast<double>(storage.instances);
  for (const machine::Network& network : chip.networks) sum += network.area_um2.value_or(0);
  return sum / 1e6;
}

// The name column of the fJ/Compute table leaves room for the implied network between two levels, whether
// or not it is printed.
std::size_t name_column(const machine::Chip& chip) {
  std::size_t longest = chip.compute.name.size();
  std::string_view inner = chip.compute.name;
  for (const machine::Storage& storage : chip.storages) {
    longest = std::max(longest, inner.size() + storage.name.size() + std::string_view(" <==> ").size());
    inner = storage.name;
  }
  for (const machine::Network& network : chip.networks) longest = std::max(longest, network.name.size());
  return longest + 1;
}

std::string intensity_text(const workload::Einsum& einsum, const machine::Chip& chip,
                           const nest::Evaluation& evaluation, const nest::SparseEvaluation* sparse) {
  const std::vector<Sum> required = compulsory_words(einsum, evaluation);
  const Sum computes = evaluation.compute.operations;
  Sum reductions = computes;
  for (std::size_t s = 0; s < required.size(); ++s)
    if (einsum.dataspaces[s].read_write) reductions -= required[s];
  if (reductions < 0) reductions = 0;  // of sparse operands fewer pairs meet than there are outputs
  const auto count = [](std::string_view name, Sum value) { return line(4, 40, name, fmt::format("{}", value)); };
  const auto per_byte = [&](std::string_view name, const std::vector<Sum>& words, int word_bits) {
    return line(4, 40, name, fixed(static_cast<double>(computes + reductions) / bytes_of(einsum, words, word_bits)));
  };
  std::string out = section(0, "Operational Intensity Stats");
  out += count("Total elementwise ops", computes);
  out += count("Total reduction ops", reductions);
  out += count("Total ops", computes + reductions);
  out += count("Total memory accesses required", sum_of(required));
  out += per_byte("Optimal Op per Byte", required, chip.storages.back().word_bits) + "\n";
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    out += fmt::format("=== {} ===\n", chip.storages[i].name);
    const std::vector<Sum> words = scalar_accesses(evaluation, sparse, i);
    if (sum_of(words) == 0) continue;
    out += count("Total scalar accesses", sum_of(words));
    out += per_byte("Op per Byte", words, chip.storages[i].word_bits);
  }
  out += "\n\n" + section(0, "Summary Stats");
  return out + fmt::format("GFLOPs (@1GHz): {:.2f}\n",
                           static_cast<double>(computes + reductions) / static_cast<double>(evaluation.cycles));
}

// What an operation costs, by levels and networks.
std::string per_compute_text(const machine::Chip& chip, const nest::Evaluation& evaluation, double computes) {
  const std::size_t column = name_column(chip);
  std::string out;
  const auto row = [&](std::string_view name, double energy_pj) {
    out += fmt::format("    {:<{}}= {:.2f}\n", name, column, energy_pj * 1e3 / computes);
  };
  if (evaluation.compute.energy_pj != 0) row(chip.compute.name, evaluation.compute.energy_pj);
  for (std::size_t i = 0; i < chip.storages.size(); ++i)
    if (evaluation.storages[i].energy_pj != 0) row(chip.storages[i].name, evaluation.storages[i].energy_pj);
  for (std::size_t i : by_name(chip))
    if (evaluation.networks[i].energy_pj != 0) row(chip.networks[i].name, evaluation.networks[i].energy_pj);
  row("Total", evaluation.energy_pj);
  return out + "\n";
}

}  // namespace

std::string stats_text(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Evaluation& evaluation,
                       bool compat, const nest::SparseEvaluation* sparse) {
  std::string out = section(0, "Buffer and Arithmetic Levels");
  if (evaluation.compute.energy_pj != 0)
    out +=
        sparse != nullptr ? sparse_compute_text(chip.compute, *sparse) : compute_text(chip.compute, evaluation.compute);
  for (std::size_t i = 0; i < chip.storages.size(); ++i) {
    const nest::StorageCost& cost = evaluation.storages[i];
    if (cost.energy_pj == 0 && sum_of(scalar_accesses(evaluation, sparse, i)) == 0) continue;
    out += sparse != nullptr ? sparse_storage_text(i + 1, einsum, chip, *sparse, compat)
                             : storage_text(i + 1, einsum, chip, cost);
  }
  out += section(0, "Networks");
  const std::vector<std::size_t> networks = by_name(chip);
  for (std::size_t i = 0; i < networks.size(); ++i)
    out += network_text(i, einsum, chip, chip.networks[networks[i]], evaluation.networks[networks[i]]);
  out += "\n" + intensity_text(einsum, chip, evaluation, sparse);
  out += fmt::format("Utilization: {:.2f}%\n", 100 * evaluation.utilization);
  out += fmt::format("Cycles: {}\n", evaluation.cycles);
  out += fmt::format("Energy: {:.2f} uJ\n", evaluation.energy_pj / 1e6);
  out += fmt::format("EDP(J*cycle): {:.2e}\n", evaluation.edp_j_cycles);
  out += fmt::format("Area: {:.2f} mm^2\n\n", compat ? 0.0 : area_mm2(chip));
  if (sparse != nullptr) {
    out += fmt::format("Algorithmic Computes = {:.0f}\nfJ/Algorithmic-Compute\n", sparse->compute.dense);
    out += per_compute_text(chip, evaluation, sparse->compute.dense) + "Actual ";
  }
  const Count computes = evaluation.compute.operations;
  out += fmt::format("Computes = {}\nfJ/Compute\n", computes);
  return out + per_compute_text(chip, evaluation, static_cast<double>(computes));
}

}  // namespace orrery::formats::timeloop
