// The workload: a transformer, with what matters for training. Sizes in elements; plain data.
#pragma once

#include <string>

#include "orrery/base/count.h"

namespace orrery::cluster {

enum class Attention {
  kMaterialised,  // scores, softmax and dropout mask go through memory (Megatron-LM of 2021)
  kFlash,         // one fused operator that keeps the scores on chip and skips what the causal mask hides
};

// Multi-head latent attention (DeepSeek-V2): keys and values are expanded from one narrow latent per token.
struct LatentAttention {
  base::Count q_rank = 0;      // 0: queries are projected directly
  base::Count kv_rank = 0;     // 0: no latent attention
  base::Count rope_width = 0;  // per head: the part of query and key that carries the position; the key's is shared
  base::Count nope_width = 0;  // per head: the rest of query and key
  base::Count value_width = 0;
};

// A mixture of experts in place of the feed-forward network of some layers.
struct Experts {
  base::Count count = 0;         // routed experts; 0: a dense model
  base::Count top_k = 1;         // experts a token visits
  base::Count ffn = 0;           // inner width of one expert
  base::Count shared = 0;        // experts that every token visits, each of width `ffn`
  base::Count dense_layers = 0;  // the first layers stay dense
  base::Count every = 1;         // after those, every n-th layer is a mixture
  base::Count max_nodes = 0;     // a token's experts lie in at most so many nodes; 0: no limit
};

struct Model {
  std::string name;
  base::Count layers = 0;
  base::Count hidden = 0;
  base::Count heads = 0;
  base::Count kv_heads = 0;    // 0: as many as `heads`
  base::Count head_width = 0;  // 0: hidden / heads
  base::Count ffn = 0;         // inner width of the feed-forward network; 0: 4 hidden
  bool gated = false;          // gate and up projections side by side (SwiGLU)
  bool biases = true;          // of projections and norms
  bool dropout = true;         // masks are drawn and kept
  bool learned_positions = true;
  bool tied_embedding = true;  // the logits use the embedding's matrix
  base::Count vocab = 0;
  base::Count position_rows = 0;  // of the learned table; 0: `seq`
  double other_layer_params = 0;  // of a layer, besides projections, feed-forward network, biases and two norms' scales
  double other_params = 0;        // besides layers and tables; on the last stage
  base::Count seq = 0;            // tokens of a training sequence
  Attention attention = Attention::kMaterialised;
  base::Count window = 0;           // tokens that attention sees in some layers; 0: all, in every layer
  base::Count windowed_layers = 0;  // so many layers
  bool chunked = false;             // they see the tokens of their own chunk of `window`, not the last `window`
  bool causal = true;               // a token attends to itself and those before it; false: to all (BERT)
  LatentAttention latent;
  Experts experts;
};

// Fills the fields whose 0 means a default.
Model completed(Model model);

// Rows of a learned table of positions; every token of a sequence has one.
base::Count position_rows(const Model& model);

// Layers that hold a mixture of experts.
base::Count expert_layers(const Model& model);

// The share of the attention core's forward products that is executed, averaged over the layers. Flash attention skips
// what a causal mask, a window or a chunk hides; what goes through memory skips nothing.
double core_share(const Model& model);

// Products of the attention core's backward pass over those of its forward pass. Flash attention recomputes the scores:
// five products for two.
inline double core_backward_products(const Model& model) {
  return model.attention == Attention::kFlash ? 2.5 : 2;
}

// Sizes of one layer: widths of the projections, and the numbers of parameters.
struct LayerShape {
  base::Count query = 0;      // heads x width of a query
  base::Count key_value = 0;  // key/value heads x width of a key (latent attention: what all heads see)
  base::Count value = 0;      // heads x width of a value: what the output projection reads
  base::Count score_width = 0;
  base::Count value_width = 0;
  double attention_params = 0;     // projections, without biases and norms
  double feed_forward_params = 0;  // of a dense layer
  double expert_params = 0;        // of one expert
  double small_params = 0;         // biases and norms of a dense layer
};
LayerShape layer_shape(const Model& model);

// Parameters of the whole model. For a plain GPT exactly Narayanan 2021 (arXiv 2104.04473) eq. 2, which leaves out the
// last norm, as this does. `active` counts of the routed experts only those that a token visits.
double parameters(const Model& model, bool active = false);

}  // namespace orrery::cluster
