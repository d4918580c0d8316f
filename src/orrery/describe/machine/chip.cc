#include "orrery/describe/machine/chip.h"

#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/describe/machine/ranges.h"

namespace orrery::machine {

int Chip::storage_index(std::string_view wanted) const {
  for (std::size_t i = 0; i < storages.size(); ++i)
    if (storages[i].name == wanted) return static_cast<int>(i);
  return -1;
}

const Network* Chip::network(std::string_view wanted) const {
  for (const Network& network : networks)
    if (network.name == wanted) return &network;
  return nullptr;
}

std::optional<base::Count> Chip::usable_words(int level) const {
  const Storage& storage = storages[level];
  if (!storage.capacity_words) return std::nullopt;
  if (storage.multiple_buffering == 1) return storage.capacity_words;
  return base::saturated(std::floor(static_cast<double>(*storage.capacity_words) / storage.multiple_buffering));
}

base::Count Chip::fanout_x(int level) const {
  const base::Count inner = level == 0 ? compute.mesh_x : storages[level - 1].mesh_x;
  return inner / storages[level].mesh_x;
}

base::Count Chip::fanout_y(int level) const {
  const base::Count inner = level == 0 ? compute.mesh_y : storages[level - 1].mesh_y;
  return inner / storages[level].mesh_y;
}

namespace {

void check_ratio(std::string_view side, base::Count inner, base::Count outer, const std::string& inner_name,
                 const std::string& outer_name, const base::Location& inner_where, const base::Location& outer_where,
                 base::Diagnostics& found) {
  if (outer < 1 || inner < 1 || inner % outer == 0) return;
  found
      .error("O0310", fmt::format("the fan-out from `{}` to `{}` is not a whole number", outer_name, inner_name),
             inner_where)
      .label(fmt::format("{} {} here", side, inner))
      .also(outer_where, fmt::format("{} {} here", side, outer))
      .note(fmt::format("{} / {} = {:.4g}: each instance of `{}` must feed the same number of `{}`", inner, outer,
                        static_cast<double>(inner) / static_cast<double>(outer), outer_name, inner_name))
      .hint(fmt::format("make the {} of `{}` a multiple of {}", side, inner_name, outer));
}

}  // namespace

void check(const Chip& chip, base::Diagnostics& found) {
  if (chip.storages.empty())
    found.error("O0311", "the architecture has no storage").hint("add at least one storage component, such as a DRAM");
  if (chip.compute.name.empty())
    found.error("O0312", "the architecture has no compute component")
        .hint("add a component of class `intmac` (or another compute class) as the innermost node");
  const auto positive = [&](const std::string& name, base::Count instances, base::Count x, base::Count y,
                            const base::Location& where) {
    if (instances < 1 || x < 1 || y < 1) {
      found.error("O0313",
                  fmt::format("`{}` has {} x {} = {} instances; every count must be at least 1", name, x, y, instances),
                  where);
    } else if (static_cast<__int128>(x) * y != instances) {
      found
          .error("O0314",
                 fmt::format("`{}` has {} instances, but its mesh is {} x {} = {}", name, instances, x, y,
                             static_cast<double>(x) * static_cast<double>(y)),
                 where)
          .hint("leave `instances` out, or make it meshX * meshY");
    }
  };
  for (const Storage& storage : chip.storages) {
    positive(storage.name, storage.instances, storage.mesh_x, storage.mesh_y, storage.where);
    if (storage.block_size < 1 || storage.word_bits < 1)
      found.error("O0315",
                  fmt::format("`{}` moves blocks of {} words of {} bits; both must be at least 1", storage.name,
                              storage.block_size, storage.word_bits),
                  storage.where);
    if (!(storage.multiple_buffering >= 1))
      found.error("O0316",
                  fmt::format("`{}` has multiple_buffering {}; it must be at least 1", storage.name,
                              storage.multiple_buffering),
                  storage.where);
    for (const auto& [bandwidth, where] : {std::pair(storage.read_words_per_cycle, &storage.read_bandwidth_where),
                                           std::pair(storage.write_words_per_cycle, &storage.write_bandwidth_where),
                                           std::pair(storage.shared_words_per_cycle, &storage.shared_bandwidth_where)})
      if (bandwidth && !(*bandwidth > 0 && std::isfinite(*bandwidth)))
        found
            .error("O0317",
                   fmt::format("`{}` has a bandwidth of {} words/cycle; it must be positive", storage.name, *bandwidth),
                   where->known() ? *where : storage.where)
            .hint("leave the bandwidth out for an unlimited one");
    check_bandwidth_ranges(storage, found);
    for (const std::string& name :
         {storage.network_read, storage.network_update, storage.network_fill, storage.network_drain})
      if (!name.empty() && !chip.network(name))
        found.error(
            "O0318",
            fmt::format("`{}` names the network `{}`, which the architecture does not have", storage.name, name),
            storage.where);
  }
  const bool has_compute = !chip.compute.name.empty();
  if (has_compute)
    positive(chip.compute.name, chip.compute.instances, chip.compute.mesh_x, chip.compute.mesh_y, chip.compute.where);
  for (std::size_t level = has_compute ? 0 : 1; level < chip.storages.size(); ++level) {
    const Storage& outer = chip.storages[level];
    const bool innermost = level == 0;
    const std::string& inner_name = innermost ? chip.compute.name : chip.storages[level - 1].name;
    const base::Location& inner_where = innermost ? chip.compute.where : chip.storages[level - 1].where;
    check_ratio("meshX", innermost ? chip.compute.mesh_x : chip.storages[level - 1].mesh_x, outer.mesh_x, inner_name,
                outer.name, inner_where, outer.where, found);
    check_ratio("meshY", innermost ? chip.compute.mesh_y : chip.storages[level - 1].mesh_y, outer.mesh_y, inner_name,
                outer.name, inner_where, outer.where, found);
  }
}

}  // namespace orrery::machine
