#include "orrery/inputs/systems/system_reading.h"

#include <fmt/format.h>

#include <utility>

namespace orrery::verbs {
namespace {

// The chip that the system's file names.
std::unique_ptr<SystemChip> own_chip(const formats::orrery::ChipReference& reference,
                                     const base::Overrides& overrides) {
  try {
    return std::make_unique<SystemChip>(reference.name, overrides, EstimatorSetup{});
  } catch (const base::InputError& error) {
    std::vector<base::Diagnostic> found = error.diagnostics;
    for (base::Diagnostic& one : found) one.also(reference.where, "the chip of this system");
    throw base::InputError(std::move(found));
  }
}

void demand_one_memory(const formats::orrery::ChipReference& reference, const SystemChip& chip) {
  const bool stated = machine::memory_port(chip.chip()).capacity_bytes > 0;
  if (stated == !reference.memory_where.known()) return;
  const std::string memory = chip.chip().storages.back().name;
  base::Diagnostics found;
  if (stated)
    found
        .error("O1393",
               fmt::format("`accelerator.memory` is said twice: `{}` of the chip `{}` has a size", memory, chip.name()),
               reference.memory_where)
        .also(reference.where, "the chip")
        .hint(
            fmt::format("leave it out, and change the chip where it must differ: `--set arch.{}.depth=WORDS`", memory));
  else
    found
        .error("O1352",
               fmt::format("nothing says how much memory there is: `{}` of the chip `{}` is as large as needed", memory,
                           chip.name()),
               reference.where)
        .hint("add `memory` to `accelerator`");
  found.throw_if_errors();
}

void refuse_overrides(const base::Overrides& overrides) {
  base::Diagnostics found;
  for (const base::Override& set : overrides)
    found.error("O1393", fmt::format("`{}` is of a chip, but none is given", set.path), base::OverrideText(set).path())
        .hint("add `--chip NAME|FILE`; the accelerator of a system is `system.accelerator`");
  found.throw_if_errors();
}

}  // namespace

SystemReading with_chip(formats::orrery::SystemFile file, const std::string& chip,
                        const base::Overrides& chip_overrides) {
  if (chip.empty() && !file.chip) refuse_overrides(chip_overrides);
  SystemReading out;
  out.inputs.push_back(base::file_input(*file.file));
  out.warnings = std::move(file.diagnostics);
  out.system = std::move(file.system);
  out.own_chip = chip.empty() && file.chip.has_value();
  if (file.chip) {
    out.chip = own_chip(*file.chip, chip.empty() ? chip_overrides : base::Overrides());
    demand_one_memory(*file.chip, *out.chip);
    out.system.accelerator = out.chip->seen_from_outside(out.system.accelerator);
  }
  if (!chip.empty()) {
    out.chip = std::make_unique<SystemChip>(chip, chip_overrides, EstimatorSetup{});
    // The memory of the chip that is replaced goes with it.
    const bool lost = file.chip && !file.chip->memory_where.known();
    if (lost && machine::memory_port(out.chip->chip()).capacity_bytes <= 0)
      base::fail(
          "O1352",
          fmt::format("nothing says how much memory `{}` has: that of `{}` is its own chip's", chip, out.system.name),
          file.chip->where, "give the chip's outermost storage a size: `--set arch.NAME.depth=WORDS`");
    out.system = out.chip->in(out.system);
  }
  if (!out.chip) return out;
  out.inputs.insert(out.inputs.end(), out.chip->inputs().begin(), out.chip->inputs().end());
  out.warnings.append(out.chip->warnings());
  return out;
}

SystemReading read_system(const std::string& directory, const std::string& name_or_path,
                          const base::Overrides& overrides, const std::string& chip,
                          const base::Overrides& chip_overrides) {
  return with_chip(formats::orrery::load_system(directory, name_or_path, overrides), chip, chip_overrides);
}

}  // namespace orrery::verbs
