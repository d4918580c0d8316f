// Sizes that follow from sizes: widths of attention's projections, parameters.
//
//   dense layer, plain GPT:  (4 h^2 attention) + (2 h f feed-forward) + (9 h biases) + (4 h norms), f = 4h
//   model:                   l layers + V h embedding + s h positions (+ V h where the logits have their own matrix)
//
// Latent attention (DeepSeek-V2, arXiv 2405.04434, eq. 9-19): keys and values come from a latent of `kv_rank`, the
// positional part of the key is one vector that all heads share.
#include "orrery/cluster/model.h"

#include <algorithm>

namespace orrery::cluster {

Model completed(Model model) {
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_width == 0 && model.heads > 0) model.head_width = model.hidden / model.heads;
  if (model.ffn == 0) model.ffn = 4 * model.hidden;
  return model;
}

base::Count position_rows(const Model& model) {
  return std::max(model.position_rows, model.seq);
}

// Of n tokens, a causal window of w leaves w - w^2 / 2n on average, a chunk half of it; without a mask, the window all.
double core_share(const Model& model) {
  if (model.attention != Attention::kFlash) return 1;
  const double full = model.causal ? 0.5 : 1;
  if (model.window == 0 || model.window >= model.seq || model.layers == 0) return full;
  const double seen = static_cast<double>(model.window) / static_cast<double>(model.seq);
  double near = seen;
  if (model.causal) near = model.chunked ? seen / 2 : seen - seen * seen / 2;
  const double share = std::min(1.0, static_cast<double>(model.windowed_layers) / static_cast<double>(model.layers));
  return share * near + (1 - share) * full;
}

base::Count expert_layers(const Model& model) {
  if (model.experts.count == 0 || model.layers <= model.experts.dense_layers) return 0;
  return (model.layers - model.experts.dense_layers) / model.experts.every;
}

LayerShape layer_shape(const Model& model) {
  const double h = model.hidden;
  LayerShape shape;
  if (model.latent.kv_rank > 0) {
    const LatentAttention& latent = model.latent;
    shape.score_width = latent.nope_width + latent.rope_width;
    shape.value_width = latent.value_width;
    shape.query = model.heads * shape.score_width;
    shape.key_value = model.heads * shape.score_width;
    const double queries = latent.q_rank > 0 ? latent.q_rank * (h + shape.query) : h * shape.query;
    shape.value = model.heads * latent.value_width;
    shape.attention_params =
        queries + h * (latent.kv_rank + latent.rope_width) +
        static_cast<double>(latent.kv_rank) * model.heads * (latent.nope_width + latent.value_width) + h * shape.value;
  } else {
    shape.score_width = shape.value_width = model.head_width;
    shape.query = shape.value = model.heads * model.head_width;
    shape.key_value = model.kv_heads * model.head_width;
    shape.attention_params = h * (shape.query + 2.0 * shape.key_value + shape.value);
  }
  const double matrices = model.gated ? 3 : 2;
  shape.feed_forward_params = matrices * h * model.ffn;
  shape.expert_params = matrices * h * model.experts.ffn;
  shape.small_params = 2 * h;  // scales of two norms
  if (model.biases) {
    shape.small_params += 2 * h + (shape.query + 2.0 * shape.key_value + h) + (matrices - 1) * model.ffn + h;
  }
  return shape;
}

double parameters(const Model& model, bool active) {
  const LayerShape shape = layer_shape(model);
  const double h = model.hidden;
  const double mixtures = expert_layers(model);
  const double visited = model.experts.shared + (active ? model.experts.top_k : model.experts.count);
  double total = model.layers * (shape.attention_params + shape.small_params);
  total += (model.layers - mixtures) * shape.feed_forward_params;
  total += mixtures * (visited * shape.expert_params + h * model.experts.count);
  total += h * model.vocab * (model.tied_embedding ? 1 : 2);
  if (model.learned_positions) total += h * position_rows(model);
  return total + model.layers * model.other_layer_params + model.other_params;
}

}  // namespace orrery::cluster
