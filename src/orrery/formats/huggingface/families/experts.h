// Parts of readers of models with mixtures of experts.
#pragma once

#include <functional>
#include <vector>

#include "orrery/formats/huggingface/families/config_reading.h"

namespace orrery::formats::huggingface {

// Finds more experts for a token than there are (O0907). A default of 0: the key is required.
workload::Experts experts(Reading& r, std::string_view count, std::string_view top_k, base::Count absent_count,
                          base::Count absent_top_k, const workload::FeedForward& expert);
// `n_group` and `topk_group`. Finds groups that do not divide the experts, and more of them, or of the experts in them,
// than there are (O0907).
void limit_groups(Reading& r, workload::Experts& e, base::Count absent_groups, base::Count absent_visited,
                  std::string_view groups_key = "n_group");

// Which layers have a mixture: by `decoder_sparse_step` and `mlp_only_layers`; by `first_k_dense_replace` and
// `moe_layer_freq` (O0922).
std::function<bool(base::Count)> sparse_steps(Reading& r, base::Count layers);
std::function<bool(base::Count)> after_first(Reading& r, base::Count layers, base::Count absent,
                                             std::string_view key = "first_k_dense_replace");

void finish_mixture(Reading& r, base::Count hidden, base::Count layers, const workload::Block& dense,
                    const workload::Block& mixture, bool tied, const std::function<bool(base::Count)>& is_mixture,
                    bool head_bias = false);

void finish_kinds(Reading& r, base::Count hidden, base::Count layers, const std::vector<workload::Block>& kinds,
                  const std::function<int(base::Count layer)>& kind_of, bool tied, bool head_bias = false);

// Layers that predict tokens beyond the next.
base::Count predicted_ahead(Reading& r);

}  // namespace orrery::formats::huggingface
