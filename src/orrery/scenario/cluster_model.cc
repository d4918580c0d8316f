// Idea: field by field; overrides by the table of fields. Cost: nothing to speak of.
#include "orrery/scenario/cluster_model.h"

#include <fmt/format.h>

#include "orrery/cluster/fields.h"

namespace orrery::scenario {
namespace {

using base::Count;

constexpr Count kLongest = 2048;  // where nothing says how long a training sequence is

}  // namespace

cluster::Model training_model(const workload::TransformerConfig& config) {
  cluster::Model model;
  model.name = config.name;
  model.layers = config.layers;
  model.hidden = config.hidden;
  model.heads = config.heads;
  model.kv_heads = config.kv_heads == config.heads ? 0 : config.kv_heads;
  const bool usual_heads = config.heads > 0 && config.head_dim == config.hidden / config.heads;
  model.head_width = usual_heads ? 0 : config.head_dim;
  model.ffn = config.feed_forward == 4 * config.hidden ? 0 : config.feed_forward;
  model.gated = config.gated;
  model.causal = config.causal;
  model.biases = config.biases;
  model.dropout = config.dropout;
  model.learned_positions = config.learned_positions;
  model.tied_embedding = config.tied_embedding;
  model.vocab = config.vocab;
  model.position_rows = config.position_rows;
  model.other_layer_params = config.each_layer_parameters;
  model.other_params = config.outside_parameters;
  model.seq = config.training_sequence.value_or(config.max_positions.value_or(kLongest));
  model.attention = config.learned_positions ? cluster::Attention::kMaterialised : cluster::Attention::kFlash;
  if (config.latent)
    model.latent = {config.latent->q_rank, config.latent->kv_rank, config.latent->rope_width, config.latent->nope_width,
                    config.latent->value_width};
  if (config.experts)
    model.experts = {config.experts->count,    config.experts->top_k,        config.experts->feed_forward,
                     config.experts->shared,   config.experts->dense_layers, config.experts->every,
                     config.experts->max_nodes};
  return model;
}

cluster::Model training_model(const workload::TransformerConfig& config, const base::Overrides& overrides) {
  cluster::Model model = training_model(config);
  const base::Fields known = cluster::fields(model);
  base::Diagnostics found;
  for (const base::Override& set : overrides) {
    const base::OverrideText shown(set, "model.");
    const base::Field* field = base::asked_field(known, set, shown, "O1361", "a model", found);
    if (field && !field->set(set.value))
      found.error("O1362", fmt::format("`model.{}` must be {}, but is `{}`", set.path, field->values, set.value),
                  shown.value());
  }
  found.throw_if_errors();
  // They were counted at the sizes of the file: of other sizes only what follows from sizes is known.
  for (const base::Override& set : overrides)
    if (set.path != "seq" && set.path != "attention" && set.path != "layers" && set.path != "dropout")
      model.other_layer_params = model.other_params = 0;
  return model;
}

}  // namespace orrery::scenario
