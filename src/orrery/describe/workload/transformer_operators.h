// A transformer's blocks as the operators that a chip runs, in every phase of its life.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

enum class OperatorRole { kMatmul, kNormalisation };

// What an operator computes of the core of an attention: E is the size of a query and L x D are the scores of
// `kScores`; D is the size of a value of `kValues`.
enum class CorePart { kNone, kScores, kSoftmax, kValues };

// One operator: `instances` equal copies of `einsum` (one per head and batch entry, say).
struct Operator {
  std::string name;
  Einsum einsum;
  base::Count instances = 1;
  OperatorRole role = OperatorRole::kMatmul;
  CorePart part = CorePart::kNone;
};

// What is asked of the model. Prefill (and the forward pass of training): sequences of `tokens`, nothing cached.
// Decoding: one token more for each of `cached`; verifying: `tokens` more, drafted by something smaller.
struct Phase {
  base::Count batch = 1;     // sequences
  base::Count tokens = 1;    // of each that are new
  base::Count cached = 0;    // of each that went before
  bool heads_apart = false;  // in prefill, heads that share keys are instances of their own nevertheless
};

struct BlockOperators {
  std::string name;                 // of the stack: "decoder"
  std::string kind;                 // what tells its kinds apart: "window of 4096, 128 experts"; empty: it has one
  base::Count layers = 1;           // of this kind
  std::vector<Operator> operators;  // in order of execution
};

// What tells kinds of blocks apart: "window of 4096, 128 experts".
std::string kind_of(const Block& block);

// One for each kind of block that runs in the phase: an encoder runs with the first tokens only. Throws InputError with
// all that is wrong: batch, tokens and cache (O0913), products beyond 64 bits (O0914), caches where nothing is cached
// (O0923). A sequence beyond `max_positions` is not an error: the cost is well defined, and studies of long sequences
// need it.
std::vector<BlockOperators> block_operators(const Transformer& model, const Phase& phase);

// The same as one list for all layers: equal operators of different kinds are one, with the instances of all. Of a
// model whose layers are all alike, the list is one block's, and `layers` says how many there are.
struct ModelOperators {
  std::vector<Operator> operators;
  base::Count layers = 1;
  std::vector<std::string> left_out;  // what no einsum expresses: scans, convolutions
  std::vector<Operator> around;       // of `products_around` that are not among the operators
};
// With `logits`, what leads from the last layer to the logits is among the operators, at every new token, and `layers`
// is 1.
ModelOperators model_operators(const Transformer& model, const Phase& phase, bool logits = false);

// Products before the first layer and behind the last that run in the phase: patches, frames, widened tables; the
// logits, and what leads to them. Throws as block_operators.
struct ProductsAround {
  std::vector<Operator> before, behind;
};
ProductsAround products_around(const Transformer& model, const Phase& phase);

// Multiply-accumulates, every instance counted. Throws base::OverflowError.
base::Count operations(const std::vector<Operator>& operators);

}  // namespace orrery::workload
