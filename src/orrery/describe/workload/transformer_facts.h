// What follows from the description of a transformer alone: parameters, operations, caches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::workload {

// The scan of a block: its mixer, or what runs beside that. Null where there is none.
const Recurrence* recurrence_of(const Block& block);

// What a model has that engines made for attention, networks, plain mixtures and scans have no place for, as messages
// name it: they refuse such models, and none leaves it out in silence.
std::vector<std::string> peculiarities(const Transformer& model);

// The matrices that a token's vector passes in a block of a stack `width` wide, in order of execution. Queries, keys
// and values are one matrix, as are gate and up projections.
std::vector<Projection> projections(const Block& block, base::Count width);

// Parameters of a block besides the matrices of `projections`: norms, sinks, convolutions, decays.
base::Count small_parameters(const Block& block, base::Count width);

// All that a block holds, every expert included.
base::Count block_parameters(const Block& block, base::Count width);

// All throw base::OverflowError where a count exceeds 64 bits.

struct Part {
  std::string name;
  base::Count parameters = 0;
  base::Count active = 0;  // of them, those that a token meets
};

struct Parameters {
  base::Count total = 0;      // shared ones once
  base::Count active = 0;     // of routed experts, those that a token visits
  base::Count embedding = 0;  // tables that are looked up: tokens, positions, token types
  base::Count head = 0;       // an output matrix of its own, and its bias
  std::vector<Part> parts;    // add up to the total
};
Parameters parameters(const Transformer& model);

// Tokens that a query sees on average in a sequence of `seq`, of `seq` tokens without mask and window.
double visible_tokens(const Attention& attention, base::Count seq);

// Floating-point operations of the forward pass, two for a multiply-accumulate, of matrix products only (scans and
// convolutions along the tokens are left out). Encoder and decoder each work on `seq` tokens, unless a stack's number
// of tokens is fixed.
struct ForwardFlop {
  double products = 0;           // with weights, the output head at every position
  double attention = 0;          // scores and weighted values, every token with every other
  double visible_attention = 0;  // what masks, windows and chunks leave of it
  base::Count tokens = 0;        // of the decoder
};
ForwardFlop forward_flop(const Transformer& model, base::Count seq);

// Elements that one more token adds to the cache of a layer.
base::Count cache_elements(const Attention& attention);

// Elements that one more token adds to the caches of attention; encoders have none. `growing`: of layers only whose
// cache no window bounds that is shorter than the model's longest sequence.
base::Count cache_elements(const Transformer& model, bool growing = false);

// The shortest window or chunk of any layer; nothing where all see all tokens.
std::optional<base::Count> shortest_reach(const Transformer& model);

// Tokens of a sequence where nothing says how long they are: all of a model whose length is fixed; else the longest
// that it takes, at most 4096; 512 where that is not known.
base::Count default_sequence(const Transformer& model);

// Elements of the states of recurrences, for a sequence; windows of convolutions left out.
base::Count state_elements(const Transformer& model);

}  // namespace orrery::workload
