#include <fmt/format.h>

#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {
namespace {

constexpr const char* kTooLarge = "exceeds 9223372036854775807, the largest count of 64 bits";

[[noreturn]] void refuse_total(const std::string& what, const std::string& arithmetic, const std::string& hint) {
  base::Diagnostics found;
  found.error("O1004", fmt::format("{} cannot be counted in 64 bits", what))
      .note(fmt::format("{} {}", arithmetic, kTooLarge))
      .hint(hint);
  throw base::InputError(found.all());
}

}  // namespace

Totals totals(const std::vector<MappedLayer>& layers, const std::vector<ArrayRow>& rows) {
  Totals sum;
  const auto add = [&sum](const auto& row, const auto& cost, double seconds) {
    sum.seconds += static_cast<double>(row.instances) * seconds;
    const base::Count before = sum.cycles;
    sum.energy_pj += static_cast<double>(row.instances) * cost.energy_pj;
    base::Count cycles = 0;
    if (__builtin_mul_overflow(row.instances, cost.cycles, &cycles))
      refuse_total(fmt::format("the cycles of `{}`", row.name),
                   fmt::format("{} instances * {} cycles", row.instances, cost.cycles),
                   "use a smaller batch, fewer heads or smaller bounds");
    if (__builtin_add_overflow(sum.cycles, cycles, &sum.cycles))
      refuse_total("the cycles of all layers",
                   fmt::format("{} cycles of the layers before `{}` + {} of it", before, row.name, cycles),
                   "map fewer layers at a time, with --layer");
    sum.edp_seed += static_cast<double>(row.instances) * cost.edp_j_cycles;
  };
  for (const MappedLayer& layer : layers)
    if (layer.found())
      add(layer, layer.optimum.evaluation,
          static_cast<double>(layer.optimum.evaluation.cycles) * layer.chip.cycle_seconds);
  for (const ArrayRow& row : rows) add(row, row, row.seconds);
  sum.edp_j_cycles = sum.energy_pj * static_cast<double>(sum.cycles) / 1e12;
  return sum;
}

Totals times(const Totals& block, base::Count blocks) {
  Totals all;
  all.energy_pj = block.energy_pj * static_cast<double>(blocks);
  if (__builtin_mul_overflow(block.cycles, blocks, &all.cycles))
    refuse_total("the cycles of the model", fmt::format("{} blocks * {} cycles", blocks, block.cycles),
                 "use fewer blocks, or read the figures of one block");
  all.edp_j_cycles = all.energy_pj * static_cast<double>(all.cycles) / 1e12;
  all.edp_seed = block.edp_seed * static_cast<double>(blocks);
  all.seconds = block.seconds * static_cast<double>(blocks);
  return all;
}

std::optional<double> area_um2(const machine::Chip& chip) {
  double sum = 0;
  const auto add = [&sum](std::optional<double> one, base::Count instances) {
    sum += one.value_or(0) * static_cast<double>(instances);
    return one.has_value();
  };
  for (const machine::Storage& storage : chip.storages)
    if (!add(storage.area_um2, storage.instances) && !storage.pass_through) return std::nullopt;
  if (!add(chip.compute.area_um2, chip.compute.instances)) return std::nullopt;
  for (const machine::Network& network : chip.networks) add(network.area_um2, 1);
  return sum;
}

}  // namespace orrery::verbs
