// What the software of a run can do: which one runs ZeRO 3, which kernel it has for attention, and a word where it
// cannot run a plan that was asked for.
#pragma once

#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/software_stack.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// The software of plans with ZeRO 3 where `stack` is the system's and nobody named one: PyTorch's FSDP, unless `stack`
// is that or XLA, which shards weights itself.
cluster::Stack of_zero_3(const std::string& catalogue, const cluster::Stack& stack);

// XLA computes attention by splash on TPUs, by cuDNN where the system's accelerator has that and no splash (MaxText's
// `attention=cudnn_flash_te`).
void suit_kernel(const cluster::System& system, cluster::Stack& stack);

// O1990: a warning where the plan needs what its software cannot do, with the stacks of the catalogue that can.
void warn_of_software(const TrainedModel& trained, base::Diagnostics& warnings);

}  // namespace orrery::verbs
