// Kernels as the model's software runs them in training, where DFModel's generators know one way alone: attention that
// is fused writes no scores and takes what `train` takes for it, and a dropout that the model lacks takes nothing. The
// kernels stay, for shardings and setups name them.
#pragma once

#include <string>
#include <vector>

#include "orrery/describe/workload/transformer.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/dataflow/model/setup.h"

namespace orrery::verbs {

// `layer`: the one that is placed. `system`: null on a chip, which has no fused attention. What becomes of kernels
// joins the notes.
void take_kernels_of_training(const workload::Transformer& model, const workload::Block& layer,
                              const cluster::System* system, dataflow::Setup& setup, std::vector<std::string>& notes);

}  // namespace orrery::verbs
