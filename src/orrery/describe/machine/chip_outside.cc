// Idea: the outermost storage is the accelerator's memory, the compute units are its peak.
//
//   peak = 2 units / cycle;  bandwidth of a stream, half of it read and half written = min(shared, 2 read, 2 write)
#include "orrery/describe/machine/chip_outside.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace orrery::machine {

MemoryPort memory_port(const Chip& chip) {
  MemoryPort port;
  if (chip.storages.empty()) return port;
  const Storage& memory = chip.storages.back();
  const double instances = static_cast<double>(memory.instances);
  const double word_bytes = memory.word_bits / 8.0;
  double words = std::numeric_limits<double>::infinity();
  if (memory.shared_words_per_cycle) words = std::min(words, *memory.shared_words_per_cycle);
  if (memory.read_words_per_cycle) words = std::min(words, 2 * *memory.read_words_per_cycle);
  if (memory.write_words_per_cycle) words = std::min(words, 2 * *memory.write_words_per_cycle);
  if (words < std::numeric_limits<double>::infinity())
    port.bytes_per_s = words * word_bytes * instances / chip.cycle_seconds;
  const double block_bytes = word_bytes * static_cast<double>(std::max<base::Count>(1, memory.block_size));
  port.pj_per_byte = (memory.energy.read_pj + memory.energy.write_pj) / 2 / block_bytes;
  if (memory.capacity_words) port.capacity_bytes = static_cast<double>(*memory.capacity_words) * word_bytes * instances;
  return port;
}

Accelerator accelerator_of(const Chip& chip, const Accelerator& otherwise, base::Diagnostics& found) {
  const MemoryPort port = memory_port(chip);
  if (chip.storages.empty()) {
    found.error("O1390", fmt::format("the chip `{}` has no storage that could be an accelerator's memory", chip.name));
  } else if (port.bytes_per_s <= 0) {
    const Storage& memory = chip.storages.back();
    found
        .error("O1390",
               fmt::format("`{}` has no memory port: no bandwidth is stated of its outermost storage `{}`",
                           chip.name.empty() ? "the chip" : chip.name, memory.name),
               memory.where)
        .note("activations, gradients and the optimiser's state pass through it, so its bandwidth sets their time")
        .hint(fmt::format("add `shared_bandwidth`, in words a cycle, to the attributes of `{0}`, or "
                          "`--set arch.{0}.shared_bandwidth=WORDS`",
                          memory.name));
  }
  Accelerator out;
  out.name = chip.name;
  out.peak_flops_per_s.fill(2 * static_cast<double>(chip.compute.instances) / chip.cycle_seconds);
  out.memory_bytes = port.capacity_bytes > 0 ? port.capacity_bytes : otherwise.memory_bytes;
  for (std::size_t level = 0; level + 1 < chip.storages.size(); ++level) {
    const Storage& storage = chip.storages[level];
    if (storage.capacity_words && !storage.pass_through)
      out.on_chip_bytes = std::max(out.on_chip_bytes, static_cast<double>(*storage.capacity_words) * storage.word_bits /
                                                          8 * static_cast<double>(storage.instances));
  }
  out.memory_bytes_per_s = port.bytes_per_s;
  out.host_seconds_per_op = otherwise.host_seconds_per_op;
  return out;
}

}  // namespace orrery::machine
