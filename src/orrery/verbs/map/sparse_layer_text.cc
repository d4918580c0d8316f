#include "orrery/verbs/map/sparse_layer_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/engines/nest/sparse/sparse_evaluation.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using nest::RankCount;
using nest::SparseEvaluation;
using nest::SparseUse;
using nest::SplitCount;
using nest::SplitUnits;

template <typename V>
using SparseLayerTextNamed = std::vector<std::pair<std::string, V>>;

struct Storage {
  std::string name;
  SparseLayerTextNamed<SparseUse> tensors;
};

std::vector<Storage> storages(const MappedLayer& layer) {
  std::vector<Storage> out;
  for (std::size_t level = layer.sparse->uses.size(); level-- > 0;) {
    Storage storage{layer.chip.storages[level].name, {}};
    for (std::size_t s = 0; s < layer.sparse->uses[level].size(); ++s)
      if (layer.sparse->uses[level][s].kept)
        storage.tensors.emplace_back(layer.einsum.dataspaces[s].name, layer.sparse->uses[level][s]);
    if (!storage.tensors.empty()) out.push_back(std::move(storage));
  }
  return out;
}

Record<SplitCount> split() {
  return {{"actual", "Operations that happen.", &SplitCount::actual},
          {"gated", "Operations left out whose time passes all the same.", &SplitCount::gated},
          {"skipped", "Operations left out whose time is saved.", &SplitCount::skipped}};
}

Record<SplitUnits> split_units() {
  const Record<RankCount> rank = {{"metadata", "Units of metadata.", &RankCount::metadata},
                                  {"payload", "Units that point to the next rank inwards.", &RankCount::payload}};
  return {{"actual", "Accesses that happen, by rank, innermost first.", &SplitUnits::actual, rank},
          {"gated", "Accesses left out whose time passes all the same, by rank, innermost first.", &SplitUnits::gated,
           rank},
          {"skipped", "Accesses left out whose time is saved, by rank, innermost first.", &SplitUnits::skipped, rank}};
}

Record<SparseUse> use() {
  return {{"format", "Ranks of the compressed format, outermost first; empty: every word is stored, without metadata.",
           &SparseUse::format},
          {"density", "Mean share of nonzeros in the tiles of the level, 0 to 1.", &SparseUse::density},
          {"share", "Share of the instances in use that hold a tile with a nonzero, 0 to 1.", &SparseUse::share},
          {"most_words", "Most words that one instance stores.", &SparseUse::most_words},
          {"most_metadata_bits", "Most bits of metadata that one instance stores.", &SparseUse::most_metadata_bits},
          {"reads", "Words read from one instance.", &SparseUse::reads, split()},
          {"fills", "Words filled into one instance.", &SparseUse::fills, split()},
          {"updates", "Words updated in one instance.", &SparseUse::updates, split()},
          {"metadata_reads", "Metadata read from one instance.", &SparseUse::metadata_reads, split_units()},
          {"metadata_fills", "Metadata filled into one instance.", &SparseUse::metadata_fills, split_units()},
          {"metadata_updates", "Metadata updated in one instance.", &SparseUse::metadata_updates, split_units()},
          {"compressions", "Words that are compressed on their way outwards.", &SparseUse::compressions},
          {"decompressions", "Words that are decompressed on their way inwards.", &SparseUse::decompressions},
          {"data_pj", "Energy of data in all instances, in pJ.", &SparseUse::data_pj},
          {"metadata_pj", "Energy of metadata in all instances, in pJ.", &SparseUse::metadata_pj}};
}

// One unit for a column.
struct EnergyUnit {
  const char* name;
  double picojoules;
};
EnergyUnit unit_for(double largest_pj) {
  if (largest_pj >= 1e4) return {"uJ", 1e6};
  return largest_pj >= 10 ? EnergyUnit{"nJ", 1e3} : EnergyUnit{"pJ", 1};
}
std::string in_unit(double energy_pj, const EnergyUnit& unit) {
  const double value = energy_pj / unit.picojoules;
  return value > 0 && value < 0.01 ? fmt::format("{:.3g}", value) : fmt::format("{:.2f}", value);
}

std::string counts(const SplitCount& split) {
  if (split.gated == 0 && split.skipped == 0) return std::to_string(split.actual);
  std::string out = std::to_string(split.actual);
  if (split.gated > 0) out += fmt::format(", {} gated", split.gated);
  if (split.skipped > 0) out += fmt::format(", {} skipped", split.skipped);
  return out;
}

}  // namespace

std::string sparse_view(const MappedLayer& layer) {
  double largest = 0;
  for (const Storage& storage : storages(layer))
    for (const auto& [tensor, one] : storage.tensors) largest = std::max(largest, one.data_pj + one.metadata_pj);
  const EnergyUnit unit = unit_for(largest);
  Table table;
  table.header = {"storage", "tensor",          "format",
                  "density", "reads",           "fills",
                  "updates", "metadata (bits)", fmt::format("energy ({})", unit.name)};
  table.left_columns = {1, 2};
  for (const Storage& storage : storages(layer)) {
    bool first = true;
    for (const auto& [tensor, one] : storage.tensors) {
      table.rows.push_back({first ? storage.name : "", tensor, one.format.empty() ? "-" : one.format,
                            fmt::format("{:.4g}", one.density), counts(one.reads), counts(one.fills),
                            counts(one.updates), std::to_string(one.metadata_read_bits + one.metadata_write_bits),
                            in_unit(one.data_pj + one.metadata_pj, unit)});
      first = false;
    }
  }
  const SplitCount& operations = layer.sparse->compute.operations;
  return text(table) + fmt::format(
                           "operations: {} of {:.0f}\nwords are those of one instance that holds nonzeros, "
                           "energies of all, without leakage\n",
                           counts(operations), layer.sparse->compute.dense);
}

Record<MappedLayer> sparse_record() {
  const Record<Storage> storage = {{"name", "Name in the architecture.", &Storage::name},
                                   {"dataspaces", "Dataspaces that the storage keeps.", &Storage::tensors, use()}};
  const Record<MappedLayer> inside = {
      {"dense_operations", "Operations of the dense problem.",
       [](const MappedLayer& l) { return l.sparse->compute.dense; }},
      {"operations", "Operations that are left.",
       [](const MappedLayer& l) -> const SplitCount& { return l.sparse->compute.operations; }, split()},
      {"storages", "Storages, outer to inner.", storages, storage}};
  return {{"sparse", "What zeros save on hardware that makes use of them.", std::identity(), inside,
           when([](const MappedLayer& l) { return l.sparse != nullptr; })}};
}

}  // namespace orrery::verbs
