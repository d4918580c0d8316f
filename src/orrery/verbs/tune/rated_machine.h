// A machine by the figures that a roofline needs: of a system, of a chip, or of this machine, measured.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/describe/machine/operator_model.h"

namespace orrery::verbs {

struct RatedMachine {
  machine::Accelerator accelerator;
  std::string name;
  bool measured = false;  // by this run; else figures of the catalogue or a file
  int word_bits = 0;      // of a chip, which computes on these words alone; 0: formats of its own
  std::vector<base::Input> inputs;
  base::Diagnostics warnings;
};

// `system`, `chip`: of the catalogue or files; neither, or the system `this-machine`: this one, on `threads` threads
// (<= 0: all cores). Throws what the files say.
RatedMachine rated_machine(const std::string& system, const std::string& chip, int threads);

// What was asked for, else 16 bits where the machine has them and was not measured, else fp32. O1702 where it has no
// peak of it, or is a chip of other words.
machine::Precision chosen_precision(std::optional<machine::Precision> asked, const RatedMachine& machine);

}  // namespace orrery::verbs
