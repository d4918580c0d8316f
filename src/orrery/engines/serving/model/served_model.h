// The workload: a transformer as an engine serves it. Made once of its description. Sizes in elements; plain data.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/engines/serving/model/deployment.h"

namespace orrery::serving {

// How tensor parallelism divides a matrix.
enum class Cut {
  kNone,     // every rank has all of it
  kColumns,  // a rank makes a part of the result
  kRows,     // a rank reads a part of the input; the results are added up
};

// What checkpoints convert together, of a layer.
enum class Part { kMixer, kNetwork, kRouter, kExperts };

// How weights lie in memory, and the narrowest format that engines multiply them in.
struct Stored {
  double bytes = 0;  // of a weight, its part of scales among them; 0: as the deployment's precision has it
  machine::Precision products = machine::Precision::kNvfp4;
};

struct ServedMatrix {
  base::Count in = 0, out = 0;
  base::Count kv_heads = 0, kv_width = 0;  // further columns: of heads of which every rank has at least one
  Cut cut = Cut::kColumns;
  Part part = Part::kMixer;
  Stored stored = {};
};

// Layers that are alike.
struct ServedLayers {
  std::size_t kind = 0;  // of the decoder's
  base::Count layers = 0;
  base::Count width = 0;
  std::vector<ServedMatrix> matrices;  // besides routed experts
  // Attention; no heads: none.
  base::Count heads = 0, kv_heads = 0;
  base::Count key_width = 0, value_width = 0;  // of a head
  base::Count span = 0;                        // tokens that a query sees at most; 0: all
  base::Count latent = 0;                      // elements of a token's latent, which all heads share; 0: none
  base::Count latent_value = 0;                // of them, those that values are made of
  // Keys that a query attends to of a latent cache, by an index; 0: all. An index of its own scores every token: so
  // many heads, one key of them all, cached beside the latent.
  base::Count picked = 0, index_heads = 0, index_width = 0;
  // Tokens that share an entry of the cache (DeepSeek-V4): a query sees entries, and the last `span` tokens besides.
  base::Count compressed = 1;
  // Experts; count 0: none.
  base::Count experts = 0, top_k = 1, expert_in = 0, expert_up = 0, expert_inner = 0;
  Stored expert_stored = {};
  double state = 0;        // elements for a sequence: of a scan and of its convolution's window
  bool ahead = false;      // of what predicts ahead: runs for guesses alone
  int parts = 2;           // each ends with an all-reduce among tensor ranks
  double small = 0;        // parameters on every rank: norms and the like
  double activations = 0;  // the most elements of a token between two operators

  // Of a key of an index: 8 bits an element and 32 for each 128, on all engines, whatever the caches have.
  double index_bytes() const {
    return static_cast<double>(index_width) + 4 * static_cast<double>(base::ceil_divide(index_width, 128));
  }
  // Of an entry, where there is a latent; `element`: bytes of one of the caches.
  double entry_bytes(double element) const { return static_cast<double>(latent) * element + index_bytes(); }
  // Bytes that a sequence of so many tokens keeps, on one of `tp` ranks; states of scans apart.
  double cached(double tokens, base::Count tp, double element) const;
  // Keys that the query behind so many tokens sees; an index that picks among them apart.
  double keys(double tokens) const;
  double near(double tokens) const { return span > 0 ? std::min(tokens, static_cast<double>(span)) : tokens; }
};

struct ServedModel {
  std::string name;
  std::vector<ServedLayers> kinds;
  base::Count layers = 0;  // besides those that predict ahead
  base::Count ahead = 0;   // modules that do
  base::Count width = 0;
  base::Count outputs = 0;  // logits
  double table = 0;         // parameters of tables that are looked up,
  double head = 0;          // and of the logits' matrix, where it is another
  double head_bytes = 2;    // of a weight of that
  double tower = 0;         // of what makes tokens of images: loaded, though texts alone are served
  double parameters = 0;
  base::Count longest = 0;  // sequence; 0: not known

  bool mixes() const;  // has routed experts
};

// Throws InputError O2071 for what the engine cannot express: encoders, layers that only some models have.
ServedModel served(const workload::Transformer& transformer);

// Whether a deployment divides the model: heads by tp, experts by ep, layers by pp; data-parallel groups in a replica
// need experts. O2072.
void check(const ServedModel& model, const Deployment& deployment, base::Diagnostics& found);

// Of a product with weights: the wider of the deployment's precision and what the weights are multiplied in.
machine::Precision product_precision(const Stored& stored, const Deployment& deployment);
double bytes_of_weight(const Stored& stored, const Deployment& deployment);

// Bytes of weights on the accelerator that has most of them; those of routed experts among them, or not.
double weight_bytes(const ServedModel& model, const Deployment& deployment, bool experts = true);

}  // namespace orrery::serving
