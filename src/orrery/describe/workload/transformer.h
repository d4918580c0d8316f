// A transformer, described once: what a paper or a config.json says, as one value from which every engine takes its
// operators. Blocks may differ: a model is one or two stacks of layers, and each layer is of one of the stack's kinds.
//
// All sizes are in elements and tokens. What follows from the description (parameters, operations, caches) stands in
// transformer_facts.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::workload {

enum class NormKind { kNone, kLayer, kRms };

struct Norm {
  NormKind kind = NormKind::kNone;
  bool scale = true;
  bool bias = false;
};

// A matrix of weights that a token's vector is multiplied with.
struct Projection {
  std::string name;
  base::Count in = 0, out = 0;
  base::Count biases = 0;   // elements
  base::Count copies = 1;   // alike, each with weights of its own: the experts of a mixture
  base::Count visited = 1;  // of the copies, those that a token visits
  bool of_source = false;   // its rows are tokens of the encoder's output
  base::Count rows = 0;     // tokens of a sequence that it is applied to; 0: all of the stack's
};

// Norms of queries and keys.
enum class QkNorm {
  kNone,
  kHead,      // over a head, one scale for all heads
  kEachHead,  // over a head, each head with its own scale
  kAll,       // over all heads side by side
};

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values are expanded from one narrow latent.
struct Latent {
  base::Count q_rank = 0;  // 0: queries are projected directly
  base::Count kv_rank = 0;
  base::Count rope_width = 0;  // per head: the part that carries the position; the key's is shared by all heads
  base::Count nope_width = 0;  // per head: the rest of query and key
};

// Which tokens a query sees, besides what a causal mask hides.
enum class Reach {
  kAll,
  kWindow,  // itself and the `span` - 1 before it (of encoders: `span` / 2 on either side)
  kChunk,   // those of its own chunk of `span` tokens
};

// Keys that a query attends to are picked by narrow scores of an index of its own (DeepSeek-V3.2, arXiv 2512.02556).
struct Index {
  base::Count heads = 0, width = 0;  // of its queries; its key is one for all heads, and cached
  base::Count top_k = 0;             // keys that a query attends to
  bool own = true;                   // false: it attends to what the index of a layer before picked
  bool weighted = true;              // its heads' scores are summed with weights projected from the stream
};

struct Attention {
  base::Count heads = 0;
  base::Count kv_heads = 0;     // key and value heads
  base::Count width = 0;        // of a query and key
  base::Count value_width = 0;  // of a value
  bool causal = true;
  Reach reach = Reach::kAll;
  base::Count span = 0;
  bool query_bias = false, key_bias = false, value_bias = false, output_bias = false;
  QkNorm qk_norm = QkNorm::kNone;
  bool qk_norm_bias = false;
  bool sinks = false;    // each head has a score that belongs to no token
  bool gated = false;    // the output is multiplied with a gate as wide as the queries, projected beside them
  bool softcap = false;  // scores pass a tanh
  std::optional<Latent> latent;
  std::optional<Index> index;
  bool value_is_key = false;         // values are made of what keys are made of: no projection of their own
  bool borrows = false;              // keys and values are those of a layer before: neither projections nor a cache
  std::vector<Projection> matrices;  // in place of those that follow from the sizes; the last one makes the output
  base::Count small_parameters = 0;  // norms and the like that nothing else here says
  base::Count compressed = 1;        // tokens that share an entry of the cache; a window of `span` is seen besides

  base::Count query() const { return heads * width; }   // all queries side by side
  base::Count key() const { return kv_heads * width; }  // all keys
  base::Count value() const { return kv_heads * value_width; }
  base::Count output() const { return heads * value_width; }  // what the output projection reads
};

// A mixer whose state does not grow: state-space models, linear attention, short convolutions.
struct Recurrence {
  enum class Kind { kMamba, kMamba2, kLinearAttention, kDelta, kConvolution, kGatedLinear };
  Kind kind = Kind::kMamba;
  std::vector<Projection> projections;
  base::Count channels = 0, taps = 0;  // of a convolution along the tokens, a filter for each channel
  bool convolution_bias = false;
  base::Count heads = 1;      // scans run side by side,
  base::Count key_width = 0;  // each on a state of key_width x value_width elements
  base::Count value_width = 0;
  base::Count small_parameters = 0;  // decays, norms and the like

  // Elements for a sequence. Throws base::OverflowError.
  base::Count state() const { return base::checked_multiply(heads, base::checked_multiply(key_width, value_width)); }
};

struct FeedForward {
  base::Count inner = 0;
  bool gated = false;  // gate and up projections side by side
  bool biases = false;
  bool clamped = false;  // both are limited before the activation (gpt-oss)
};

// A mixture of experts in place of a feed-forward network.
struct Experts {
  base::Count count = 0;  // routed experts
  base::Count top_k = 1;  // of them that a token visits
  FeedForward expert;
  base::Count shared = 0;     // experts that every token visits, for display
  FeedForward shared_expert;  // all of them side by side; inner width 0: none
  bool shared_gate = false;   // a scalar for each token weighs the shared one
  bool router_bias = false;
  // Every copy of a token gets its expert's last bias, weighted. Published of gpt-oss alone: software that groups
  // experts refused biases before, and what sizes alone describe has none to weight.
  bool weighted_bias = false;
  base::Count max_groups = 0;  // a token's experts lie in at most so many groups (nodes); 0: no limit
  base::Count latent = 0;  // width that routed experts work on, projected down and up for all of them; 0: the stack's
  base::Count idle = 0;    // further experts that hand their input back
};

struct Block {
  std::variant<std::monostate, Attention, Recurrence> mixer;
  std::optional<Attention> cross;  // to the encoder's output
  std::variant<std::monostate, FeedForward, Experts> feed_forward;
  Norm norm;
  int norms = 2;                     // of the stack's width
  bool post = false;                 // norms stand after the additions (BERT), not before the operators
  bool parallel = false;             // mixer and feed-forward network read the same input
  std::optional<Recurrence> beside;  // reads what the mixer reads; the results are added
  std::vector<Projection> extra;     // matrices that are part of neither, named "layer-..."
  base::Count extra_parameters = 0;
  bool ahead = false;  // predicts a token beyond the next
};

struct Stack {
  std::string name;       // "decoder"
  base::Count width = 0;  // of the residual stream
  std::vector<Block> kinds;
  std::vector<int> layers;      // the kind of each layer
  base::Count weight_sets = 0;  // layers share so many sets of weights; 0: each has its own
  bool causal = true;
  Norm entry, exit;                // after the tables, after the last layer
  base::Count entry_width = 0;     // 0: `width`
  base::Count position_rows = 0;   // of a learned table
  base::Count position_width = 0;  // of a row; 0: `width`
  bool learned_positions = false;
  base::Count distance_rows = 0;   // of a table of distances with an entry for each head (T5), once a stack
  std::vector<Projection> into;    // from tables, patches or frames to the first layer
  std::vector<Projection> out_of;  // from the last layer
  base::Count other_parameters = 0;
  base::Count fixed_tokens = 0;  // a sequence always has so many (an image's patches); 0: any number
};

// What follows the last layer.
struct Head {
  bool tied = true;         // logits use the table of tokens
  base::Count outputs = 0;  // logits; 0: none
  base::Count width = 0;    // of what they are made from; 0: what the transform or the last layer hands on
  bool bias = false;
  bool at_one_token = false;          // of a sequence: classes of an image
  std::vector<Projection> transform;  // between the last layer and the logits
  std::vector<Projection> extra;      // beside the logits, at one token: BERT's next sentence
  Norm norm;                          // of the transform
  base::Count norm_width = 0;
};

// Modules behind the last layer, each of which predicts a token further ahead (DeepSeek-V3, arXiv 2412.19437, section
// 2.2). The state before and the next token's row of the table pass a norm each and, side by side, a matrix to the
// stream's width; then the module's layers, a norm, and the logits.
struct Ahead {
  bool known = false;              // whether the family's code says what they consist of
  std::vector<Block> layers;       // of a module; none: one as the last layer is
  int norms = 3;                   // of the two inputs and behind; 2: none behind
  std::vector<Projection> behind;  // matrices between the layers and the norm, named "layer-..."
  base::Count behind_parameters = 0;
  bool own_logits = false;  // each has a matrix of logits of its own
  bool copies = false;      // files have the table and the logits once more for each
};

struct Transformer {
  std::string name;
  std::string family;         // the `model_type`
  std::vector<Stack> stacks;  // one; or an encoder and the decoder that attends to it
  std::vector<Stack> towers;  // beside them: what makes tokens of images
  base::Count vocab = 0;
  base::Count embedding_width = 0;  // of the table of tokens
  base::Count token_types = 0;
  base::Count tables = 1;                       // of tokens, each with weights of its own
  base::Count layer_rows = 0, layer_width = 0;  // a further table: what a token adds to every layer, side by side
  Head head;
  std::optional<base::Count> max_positions;
  std::optional<base::Count> training_sequence;  // where it is shorter than what the model can take
  bool dropout = false;
  base::Count natural_tokens = 0;   // of the decoder, where the model's length is fixed; else 0
  base::Count predicted_ahead = 0;  // modules that predict tokens beyond the next; not among the parameters
  base::Count counted_ahead = 0;    // of them, those that are: the decoder's last layers (`with_ahead`)
  Ahead ahead;
  // Where a figure was said, by its key; "" is the description as a whole.
  std::map<std::string, base::Location> places;

  const Stack& decoder() const { return stacks.back(); }
  const Stack* encoder() const { return stacks.size() > 1 ? &stacks.front() : nullptr; }
};

}  // namespace orrery::workload
