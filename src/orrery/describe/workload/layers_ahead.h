// Layers that predict tokens beyond the next, as layers of the description.
#pragma once

#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

// The layers of a module of `model.ahead`, what joins its inputs and stands behind it among their matrices and norms.
std::vector<Block> module_ahead(const Transformer& model);

// The model with `modules` of them behind its last layer, each with logits. Their layers then are counted, cached and
// run as the others, and told apart by `Block::ahead`. The model has one stack whose layers share no weights.
Transformer with_ahead(Transformer model, base::Count modules);

}  // namespace orrery::workload
