// Queries and keys of an attention that a layer asks for, as predictors read them.
#pragma once

#include <vector>

#include "orrery/kernels/attention.h"
#include "orrery/sparse/attention_input.h"

namespace orrery::study {

struct Gathered {
  sparse::AttentionInput input;  // points to the vectors
  std::vector<float> query, key;
};

// fp32, [batch][heads][tokens][size]; heads that share keys have a copy each. What lies beyond a sequence's length is
// zero. `scaled`: queries are multiplied by the attention's scale, and scores are not. A bias may only hide keys from
// all queries and heads (-inf). Memory of `into` is used again.
void gather(kernels::Context& context, const kernels::Attention& attention, bool scaled, Gathered& into);

// Values in the same way, [batch][heads][keys][value_size].
void gather_values(kernels::Context& context, const kernels::Attention& attention, std::vector<float>& into);

}  // namespace orrery::study
