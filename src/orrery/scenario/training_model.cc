#include "orrery/scenario/training_model.h"

namespace orrery::scenario {

cluster::Model training_model(const workload::TransformerConfig& config) {
  cluster::Model model;
  model.name = config.name;
  model.layers = config.layers;
  model.hidden = config.hidden;
  model.heads = config.heads;
  model.kv_heads = config.kv_heads == config.heads ? 0 : config.kv_heads;
  model.head_width = config.head_dim * config.heads == config.hidden ? 0 : config.head_dim;
  model.ffn = config.feed_forward == 4 * config.hidden ? 0 : config.feed_forward;
  model.gated = config.gated;
  model.biases = config.biases;
  model.dropout = config.dropout;
  model.learned_positions = config.learned_positions;
  model.tied_embedding = config.tied_embedding;
  model.vocab = config.vocab;
  model.seq = config.training_sequence.value_or(config.max_positions.value_or(0));
  model.attention = config.dropout ? cluster::Attention::kMaterialised : cluster::Attention::kFlash;
  if (config.latent) {
    const workload::LatentAttentionConfig& latent = *config.latent;
    model.latent = {latent.q_rank, latent.kv_rank, latent.rope_width, latent.nope_width, latent.value_width};
  }
  if (config.experts) {
    const workload::ExpertsConfig& experts = *config.experts;
    model.experts.count = experts.count;
    model.experts.top_k = experts.top_k;
    model.experts.ffn = experts.feed_forward;
    model.experts.shared = experts.shared;
    model.experts.dense_layers = experts.dense_layers;
    model.experts.every = experts.every;
  }
  return model;
}

}  // namespace orrery::scenario
