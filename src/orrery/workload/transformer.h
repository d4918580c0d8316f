// A transformer block as the operators that a chip runs: the eight layers of Timeloop-Experiments.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"
#include "orrery/workload/einsum.h"

namespace orrery::workload {

// A mixture of experts in place of the feed-forward network of some blocks.
struct ExpertsConfig {
  base::Count count = 0;         // routed experts
  base::Count top_k = 0;         // of them that a token visits
  base::Count feed_forward = 0;  // inner width of one
  base::Count shared = 0;        // experts that every token visits
  base::Count dense_layers = 0;  // first blocks without a mixture
  base::Count every = 1;         // after those, every n-th block has one
  base::Count max_nodes = 0;     // a token's experts lie in at most so many nodes; 0: no limit
};

// Multi-head latent attention (DeepSeek-V2): widths of the narrow latents and of the heads' parts.
struct LatentAttentionConfig {
  base::Count q_rank = 0;  // 0: queries are projected directly
  base::Count kv_rank = 0;
  base::Count rope_width = 0;
  base::Count nope_width = 0;
  base::Count value_width = 0;
};

// What a model's paper or config.json says; all sizes in elements.
struct TransformerConfig {
  std::string name;
  std::string family;            // "bert", "gpt2", "llama", ...: for display only
  base::Count hidden = 0;        // width of the residual stream
  base::Count layers = 0;        // identical blocks
  base::Count heads = 0;         // query heads
  base::Count kv_heads = 0;      // key and value heads; 0: as many as `heads`
  base::Count head_dim = 0;      // 0: hidden / heads
  base::Count feed_forward = 0;  // inner width of the feed-forward network
  bool gated = false;            // gate and up projections side by side (SwiGLU)
  bool rms_norm = false;         // two sweeps a column instead of layer norm's three
  base::Count vocab = 0;         // 0: unknown; no operator of a block needs it
  std::optional<base::Count> max_positions;
  // Used by training runs only.
  std::optional<base::Count> training_sequence;  // tokens; where it is shorter than what the model can take
  bool causal = true;                            // tokens attend to those before them; false: to all
  bool biases = true;                            // of projections and norms
  bool dropout = true;                           // masks are drawn and kept
  bool learned_positions = true;                 // positions are a table, not rotations
  bool tied_embedding = true;                    // the logits use the embedding's matrix
  // Where nothing is known about them: 0.
  base::Count position_rows = 0;      // of the table of positions; 0: as many as a training sequence has tokens
  double each_layer_parameters = 0;   // in addition to a block's matrices, its biases as above, and two scales of norms
  double outside_parameters = 0;      // in addition to the blocks and the tables
  std::optional<base::Count> window;  // tokens that attention sees; not modelled where the sequence is longer
  std::optional<ExpertsConfig> experts;
  std::optional<LatentAttentionConfig> latent;
  // Where each field was specified, by its name above ("hidden"); "" is the description as a whole.
  std::map<std::string, base::Location> places;
};

enum class OperatorRole { kMatmul, kNormalisation };

// One operator of a block: `instances` equal copies of `einsum` (one per head and batch entry, say).
struct Operator {
  std::string name;
  Einsum einsum;
  base::Count instances = 1;
  OperatorRole role = OperatorRole::kMatmul;
};

// Fills `kv_heads` and `head_dim` where they are 0 and reports impossible values: sizes that are not positive
// (O0910), heads that do not divide the width (O0911), key/value heads that do not divide the query heads
// (O0912).
TransformerConfig complete(TransformerConfig config, base::Diagnostics& found);

// Finds a window that is shorter than a sequence of `seq` tokens, which is not modelled: O0918.
void refuse_window(const TransformerConfig& config, base::Count seq, base::Diagnostics& found);

// The operators of ONE block for `batch` sequences of `seq` tokens, in order of execution: KQV, KTQ, softmax,
// VScores, Out, layernorm, FF1, FF2. Throws InputError with all that is wrong with the configuration, batch and
// sequence (O0913), products beyond 64 bits (O0914), and blocks that do not consist of these eight operators: mixtures
// of experts and latent attention (O0915), windows of attention (O0918). A sequence beyond `max_positions` is not an
// error: the cost is well defined, and studies of long sequences need it.
std::vector<Operator> transformer_block(const TransformerConfig& config, base::Count batch, base::Count seq);

// Multiply-accumulates of a block, every instance counted. Throws base::OverflowError.
base::Count operations(const std::vector<Operator>& block);

}  // namespace orrery::workload
