// Whether a whole model lies in the chip's outermost storage: what no mapping of one layer sees.
//
//   weights      all parameters, once
//   caches       of each sequence, keys and values (or latents) of the tokens that each layer's attention still sees,
//                those of an encoder's output, and states of recurrences
//   activations  what the largest operator reads and writes besides weights; of heads, one at a time
//
// in words of that storage. Nothing else is counted, so that a model that does not fit by this does not fit.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/verbs/map/answer.h"

namespace orrery::verbs {

// Throws base::OverflowError beyond 64 bits.
ModelMemory model_memory(const workload::Transformer& model, const workload::Phase& phase,
                         const std::vector<workload::Operator>& operators);

// Fills in what the storage says, and warns where it holds less (O1011).
void hold_against(const machine::Chip& chip, const std::string& model, ModelMemory& memory,
                  base::Diagnostics& warnings);

}  // namespace orrery::verbs
