// The workload: a transformer as a training run sees it. Made once of its description; what is evaluated often is
// looked up here. Sizes in elements; plain data.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::cluster {

enum class Attention {
  kMaterialised,  // scores, softmax and dropout mask go through memory (Megatron-LM of 2021)
  kFlash,         // one fused operator that keeps the scores on chip and skips what the causal mask hides
};

// How tensor parallelism divides a matrix.
enum class Split {
  kNone,     // every rank has all of it
  kColumns,  // a rank makes a part of the result
  kRows,     // a rank reads a part of the input; the results are added up
};

struct Matrix {
  std::string name = {};  // as of workload::Projection
  base::Count in = 0, out = 0;
  base::Count kv_heads = 0, kv_width = 0;  // further columns: key/value heads, of which every rank has at least one
  Split split = Split::kColumns;
  bool of_source = false;     // applied to the encoder's tokens
  bool spread = false;        // every rank has its part of the tokens under sequence parallelism: routers
  base::Count at_tokens = 0;  // of a sequence; 0: all of the layer's
};

// A product with the latents of attention: queries, keys, values of their heads.
inline bool from_latent(const Matrix& m) {
  return m.name == "Q-up" || m.name == "KV-up";
}

// Of the products of scores and weighted values, the share that is executed: a kernel of the flash family skips what a
// causal mask or a window hides. `document`: tokens of a document, of several that are packed; 0: it is the sequence.
double executed_share(const workload::Attention& a, base::Count seq, Attention kernel, base::Count document);

// Scores and weighted values.
struct Core {
  base::Count heads = 0, kv_heads = 0;
  base::Count width = 0, value_width = 0;
  double share = 1;        // of the forward products that is executed
  double own = 0;          // elements of a token's queries and outputs, gates included
  double keys = 0;         // of keys and values
  base::Count seen = 0;    // tokens whose keys are seen
  bool of_source = false;  // they are the encoder's
  bool borrowed = false;   // another layer makes and keeps them
};

// A scan, and a convolution along the tokens before it.
struct Scan {
  base::Count heads = 0;  // that tensor parallelism divides
  double projected = 0;   // elements of a token that it reads,
  double result = 0;      // and writes
  double channels = 0;    // of the convolution
  double state = 0;       // elements for a sequence
  double reduced = 0;     // elements of a token that are added up over tensor ranks in the middle
};

struct Mixture {
  base::Count count = 0;  // routed experts; 0: none
  base::Count top_k = 1;
  base::Count inner = 0;  // width of one
  base::Count up = 0;     // columns of its first matrix: gate and up projections
  base::Count nodes = 0;  // a token's experts lie in at most so many
  bool biases = false;    // every copy of a token gets its expert's last one, weighted
  bool clamped = false;   // what its first one yields is limited before the activation
  base::Count width = 0;  // of what experts read: the stream's, or a latent's
};

// Layers that are alike.
struct LayerKind {
  base::Count layers = 0;
  double weight_sets = 0;        // so many sets of weights for them; fewer than layers where some share theirs
  base::Count width = 0;         // of the residual stream
  base::Count seq = 0;           // tokens of a sequence,
  base::Count source = 0;        // of the encoder's
  std::vector<Matrix> matrices;  // besides the routed experts'
  std::vector<Core> cores;       // at most two
  Scan scan;                     // heads 0: none
  std::optional<workload::Latent> latent;
  Mixture mixture;
  base::Count inner = 0;         // width of a dense feed-forward network; 0: none
  int parts = 2;                 // each with a norm, a residual, a dropout, an all-reduce: mixer, feed-forward network
  bool fused_norms = false;      // neither biases nor dropout
  double rms_normed = 0;         // elements of a token that RMSNorms of the stream read,
  double heads_normed = 0;       // those of queries and keys,
  double rotated = 0;            // and of queries and keys that carry their position
  double activated[2] = {0, 0};  // bytes of a token around the activation function: forward, backward
  double gates = 0;              // elements of a token that are gated,
  double kept_inner = 0;         // elements of a token that it keeps,
  double second_operand = 0;     // share of them that the second product reads
  double latents = 0;            // elements of a token between narrow projections
  double host_operators = 0;     // issued by a forward pass, cores apart,
  double network_operators = 0;  // of them by its feed-forward network
  double split_params = 0;       // of a layer: divided by tensor parallelism,
  double whole_params = 0;       // on every rank,
  double expert_params = 0;      // of routed experts
  double product_flop = 0;       // of a layer's forward pass on a sequence: products with weights,
  double core_flop = 0;          // scores and weighted values, in full
};

// What is made of the last layer.
struct Logits {
  base::Count outputs = 0;    // 0: none
  base::Count width = 0;      // of what they are made from
  bool at_one_token = false;  // of a sequence
  bool tied = true;
};

struct Model {
  std::string name;
  base::Count layers = 0;
  base::Count hidden = 0;    // of the stage boundaries: the decoder's
  base::Count seq = 0;       // tokens of a training sequence
  base::Count document = 0;  // of one of its documents; 0: it is one
  Attention attention = Attention::kMaterialised;
  bool dropout = false;
  std::vector<LayerKind> kinds;
  std::vector<std::size_t> ahead_kinds;  // of the layers of a module that predicts ahead
  int front = -1;       // the kind of the first layers where it does not come again; others are spread evenly
  double crossing = 0;  // elements of a sequence that cross a stage boundary
  double embedded = 0;  // elements of a sequence that the tables yield
  base::Count vocab = 0;
  double table = 0;                 // parameters of the table of tokens,
  double positions = 0;             // of learned positions
  std::vector<Matrix> first, last;  // around the layers
  double first_params = 0, last_params = 0;
  Logits logits;
  base::Count ahead = 0;    // modules of `ahead_kinds` that predict tokens beyond the next, each with logits
  double ahead_params = 0;  // of each, besides its layers'
  double parameters = 0, active_parameters = 0;
  bool shares_weights = false;  // among layers
  // For rules and their messages.
  std::vector<std::pair<std::string, base::Count>> sizes;
  bool possible_sizes = true;
  double widest = 0;  // elements of a token, of all operators of a layer together
  double most_visits = 1;
  double most_scores = 0;   // of a sequence
  base::Count longest = 0;  // tokens of a stack

  bool mixes() const;           // holds a mixture of experts
  base::Count experts() const;  // of the first mixture; 0: none
};

// What a description leaves open.
struct TrainedAs {
  base::Count seq = 0;
  Attention attention = Attention::kMaterialised;
  base::Count document = 0;  // tokens of the document that a token sees, of packed sequences; 0: all of a sequence
};

// Throws InputError: O0915 for what the engine cannot express, O1300 where parameters cannot be counted. Sizes that
// cannot be are left to `check`.
Model prepared(const workload::Transformer& transformer, const TrainedAs& as);

// Products of the attention core's backward pass over those of its forward pass. Flash attention recomputes the scores:
// five products for two.
inline double core_backward_products(const Model& model) {
  return model.attention == Attention::kFlash ? 2.5 : 2;
}

// Parameters of the whole model, as workload::parameters counts them, with a row of a learned table for every token of
// a sequence. `active` counts of the routed experts only those that a token visits.
inline double parameters(const Model& model, bool active = false) {
  return active ? model.active_parameters : model.parameters;
}

}  // namespace orrery::cluster
