// Queries and keys of an attention that a layer asks for, as predictors read them.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/masks/attention_input.h"
#include "orrery/runtime/kernels/attention.h"

namespace orrery::masks {

// Why predictors cannot tell which scores of such an attention matter: a bias of single queries, a window, a diagonal
// that does not end with the last key; empty: they can.
std::string unpredictable(const kernels::Attention& attention);

struct Gathered {
  AttentionInput input;  // points to the vectors, or to the attention's own numbers
  std::vector<float> query, key;
};

// fp32, [batch][heads][tokens][size], from any type; heads that share keys have a copy each. What lies so already is
// not copied. What lies beyond a sequence's length is zero. `scaled`: queries are multiplied by the attention's scale,
// and scores are not. A bias may only hide keys from all queries and heads (-inf). Memory of `into` is used again.
void gather(kernels::Context& context, const kernels::Attention& attention, bool scaled, Gathered& into);

// Values in the same way, always copied: [batch][heads][keys][value_size].
void gather_values(kernels::Context& context, const kernels::Attention& attention, std::vector<float>& into);

// Copies what still points to the attention's numbers, so that it outlives them.
void own(Gathered& gathered);

// The shapes and what is there, without the numbers: all that a pattern needs.
void gather_shape(const kernels::Attention& attention, AttentionInput& into);

}  // namespace orrery::masks
