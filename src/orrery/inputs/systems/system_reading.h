// A system with the chip that its file names, or the one that a user puts in the place of its accelerator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/inputs/systems/system_chip.h"

namespace orrery::verbs {

struct SystemReading {
  cluster::System system;            // with the chip in it
  std::unique_ptr<SystemChip> chip;  // null: the accelerator is described by figures
  bool own_chip = false;             // the system's file names it
  std::vector<base::Input> inputs;   // the files, without settings
  base::Diagnostics warnings;
};

// Completes what `file` leaves to its chip. `chip`: one that a user puts in the accelerator's place; empty: none.
// `chip_overrides`: of the chip's documents. Throws InputError: O1352 where nobody says how much memory there is, O1393
// where two do, or where documents of no chip are overridden, and what the chip's documents say.
SystemReading with_chip(formats::orrery::SystemFile file, const std::string& chip = {},
                        const base::Overrides& chip_overrides = {});

// The same by catalogue name or path.
SystemReading read_system(const std::string& directory, const std::string& name_or_path,
                          const base::Overrides& overrides = {}, const std::string& chip = {},
                          const base::Overrides& chip_overrides = {});

}  // namespace orrery::verbs
