// A forward graph whose tokens are shared by several chips, with what that communicates.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/describe/workload/graphs/language_model_graph.h"

namespace orrery::workload {

enum class TokenSharing {
  kEverywhere,       // every kernel works on its chip's tokens, with all weights; keys and values are gathered
  kBetweenProducts,  // norms, dropouts and residuals do; products share their weights (Megatron)
};

// `graph`, the forward graph of `layers` on `tokens`, shared by `chips`. One chip: as it is.
//
// Throws InputError: O1482 for fewer than one chip, O1488 for layers whose sums over tokens are not those of attention,
// O1491 for chips that do not divide the tokens.
KernelGraph share_tokens(const KernelGraph& graph, const GraphLayers& layers, const GraphTokens& tokens,
                         TokenSharing sharing, base::Count chips);

}  // namespace orrery::workload
