#include "orrery/describe/machine/ranges.h"

#include <cmath>

#include <fmt/format.h>

namespace orrery::machine {

std::string range_broken(double figure, const char* unit) {
  if (std::isnan(figure)) return fmt::format("it is not a number of {}", unit);
  if (figure < 0) return fmt::format("{:g} {} is less than 0", figure, unit);
  if (figure > kMostFigure)
    return fmt::format("{:g} {} is more than {:g} {}, the largest supported value", figure, unit, kMostFigure, unit);
  return fmt::format("{:g} {} is less than {:g} {}, the smallest supported value other than 0", figure, unit,
                     kLeastFigure, unit);
}

void check_bandwidth_ranges(const Storage& storage, base::Diagnostics& found) {
  const auto check = [&](const std::optional<double>& words_per_cycle, const base::Location& where, const char* port) {
    if (!words_per_cycle || !(*words_per_cycle > 0 && *words_per_cycle < kLeastWordsPerCycle)) return;
    found
        .error("O0327",
               fmt::format("a {} bandwidth of {:g} words per cycle of `{}` is too small: its cycles cannot be counted",
                           port, *words_per_cycle, storage.name),
               where.known() ? where : storage.where)
        .note(fmt::format("1 word / {:g} words per cycle = {:.4g} cycles, more than 9223372036854775807, the largest "
                          "count of 64 bits",
                          *words_per_cycle, 1 / *words_per_cycle))
        .hint("leave the bandwidth out for an unlimited one");
  };
  check(storage.read_words_per_cycle, storage.read_bandwidth_where, "read");
  check(storage.write_words_per_cycle, storage.write_bandwidth_where, "write");
  check(storage.shared_words_per_cycle, storage.shared_bandwidth_where, "shared");
}

void check_ranges(const Chip& chip, base::Diagnostics& found) {
  const auto energy = [&](double figure_pj, const char* action, const std::string& name, const base::Location& where) {
    if (in_range(figure_pj)) return;
    found.error("O0609", fmt::format("the {} energy of `{}` is out of range", action, name), where)
        .note(range_broken(figure_pj, "pJ"))
        .hint("energies are in pJ per action");
  };
  for (const Storage& storage : chip.storages) {
    check_bandwidth_ranges(storage, found);
    energy(storage.energy.read_pj, "read", storage.name, storage.where);
    energy(storage.energy.write_pj, "write", storage.name, storage.where);
    energy(storage.energy.update_pj, "update", storage.name, storage.where);
    energy(storage.energy.leak_pj_per_cycle, "leak", storage.name, storage.where);
  }
  energy(chip.compute.compute_pj, "compute", chip.compute.name, chip.compute.where);
  energy(chip.compute.leak_pj_per_cycle, "leak", chip.compute.name, chip.compute.where);
  for (const Network& network : chip.networks)
    for (const auto& [action, table] : network.energy_pj)
      for (const auto& [destinations, figure_pj] : table)
        energy(figure_pj, action.c_str(), network.name, network.where);
}

}  // namespace orrery::machine
