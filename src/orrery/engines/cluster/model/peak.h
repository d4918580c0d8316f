// FLOP/s of which a run's utilisation is a share.
#pragma once

#include <algorithm>

#include "orrery/describe/machine/operator_model.h"

namespace orrery::cluster {

// Attention and logits stay in 16 bits where products are quantised.
inline double peak_of_run(const machine::Accelerator& chip, machine::Precision precision) {
  const double peak = chip.peak(precision);
  return machine::quantised(precision) ? std::max(peak, chip.peak(machine::Precision::kBf16)) : peak;
}

}  // namespace orrery::cluster
