// The few sizes by which people speak of a transformer: enough to make a plain one, and to change one that was read.
#pragma once

#include <set>
#include <string>

#include "orrery/base/numbers/count.h"
#include "orrery/base/text/field.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

struct PlainExperts {
  base::Count count = 0;         // routed experts; 0: a dense model
  base::Count top_k = 1;         // experts a token visits
  base::Count ffn = 0;           // inner width of one expert
  base::Count shared = 0;        // experts that every token visits, each of width `ffn`
  base::Count dense_layers = 0;  // the first layers stay dense
  base::Count every = 1;         // after those, every n-th layer is a mixture
  base::Count max_nodes = 0;     // a token's experts lie in at most so many nodes; 0: no limit

  bool operator==(const PlainExperts&) const = default;
};

struct PlainLatent {
  base::Count q_rank = 0;      // 0: queries are projected directly
  base::Count kv_rank = 0;     // 0: no latent attention
  base::Count rope_width = 0;  // per head: the part of query and key that carries the position
  base::Count nope_width = 0;  // per head: the rest of query and key
  base::Count value_width = 0;

  bool operator==(const PlainLatent&) const = default;
};

// A size of 0 follows from others where a default is named.
struct PlainTransformer {
  base::Count layers = 0;
  base::Count hidden = 0;
  base::Count heads = 0;
  base::Count kv_heads = 0;    // 0: as many as `heads`
  base::Count head_width = 0;  // 0: hidden / heads
  base::Count ffn = 0;         // inner width of the feed-forward network; 0: 4 hidden
  base::Count vocab = 0;       // 0: neither tables nor logits
  base::Count window = 0;      // tokens that attention sees in some layers; 0: all, in every layer
  base::Count windowed_layers = 0;
  bool chunked = false;  // they see the tokens of their own chunk of `window`, not the last `window`
  bool causal = true;    // a token attends to itself and those before it
  bool gated = false;    // gate and up projections side by side
  bool biases = true;    // of projections and norms
  bool dropout = true;
  bool learned_positions = true;  // a row for each token of a sequence
  bool tied_embedding = true;     // the logits use the table of tokens
  PlainExperts experts = {};
  PlainLatent latent = {};

  bool operator==(const PlainTransformer&) const = default;
};

// One stack of layers, each of attention and a feed-forward network or a mixture of experts with a norm before either;
// no norm after the last layer (Narayanan 2021, eq. 2, counts so). Sizes are taken as they are.
Transformer plain_transformer(const PlainTransformer& sizes);

// Sizes with a default filled in.
PlainTransformer completed(PlainTransformer sizes);

// What a description says in these words: of its decoder, of the first of its layers that has the part. Sizes that are
// the default of others are 0, so that they follow when the others are changed.
PlainTransformer sizes_of(const Transformer& model);

// Their paths: "layers", "experts.count", ... The list points into what it is given.
base::Fields fields(PlainTransformer& sizes);

// Why a description cannot take another value of a field ("its feed-forward networks have several widths"); empty
// where it can.
std::string refusal(const Transformer& model, const std::string& path);

// The description with other sizes: `changed` is `sizes_of(model)` with some fields changed, none of which it refuses.
// What no size speaks of (norms of queries, gates of experts, ...) stays. Layers that are added repeat the last ones,
// with their windows, unless `windowed_layers` is among the fields that were `said`.
Transformer with_sizes(Transformer model, const PlainTransformer& changed, const std::set<std::string>& said = {});

}  // namespace orrery::workload
