#include "orrery/study/gathered.h"

#include <cmath>

#include "orrery/base/check.h"

namespace orrery::study {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Vectors;

Index valid(const Index* lengths, Index batch, Index all) {
  return lengths == nullptr ? all : lengths[batch];
}

void copy(kernels::Context& context, const Attention& x, const Vectors& from, Index size, Index positions,
          const Index* lengths, const Index* starts, Index group, float factor, std::vector<float>& to) {
  to.assign(static_cast<std::size_t>(x.batch * x.heads * positions * size), 0.0F);
  context.pool().run(x.batch * x.heads, [&](Index matrix, int) {
    const Index batch = matrix / x.heads, head = matrix % x.heads / group;
    const Index first = (starts == nullptr ? batch * from.batch : starts[batch] * from.position) + head * from.head;
    for (Index p = 0; p < valid(lengths, batch, positions); ++p) {
      const Index at = first + p * from.position;
      float* const row = to.data() + (matrix * positions + p) * size;
      for (Index i = 0; i < size; ++i)
        row[i] = factor * (x.type == kernels::Type::kBf16
                               ? kernels::from_bf16(static_cast<const kernels::Bf16*>(from.data)[at + i])
                               : static_cast<const float*>(from.data)[at + i]);
    }
  });
}

void mark(const Attention& x, Index positions, const Index* lengths, std::vector<std::uint8_t>& to) {
  to.clear();
  if (lengths == nullptr) return;
  for (Index b = 0; b < x.batch; ++b)
    for (Index p = 0; p < positions; ++p) to.push_back(p < lengths[b] ? 1 : 0);
}

}  // namespace

void gather(kernels::Context& context, const Attention& x, bool scaled, Gathered& into) {
  ORRERY_CHECK(x.type == kernels::Type::kF32 || x.type == kernels::Type::kBf16, "attention is of fp32 or bf16");
  copy(context, x, x.query, x.size, x.queries, x.query_lengths, x.query_starts, 1,
       scaled ? static_cast<float>(x.scale) : 1.0F, into.query);
  copy(context, x, x.key, x.size, x.keys, x.key_lengths, x.key_starts, x.heads / x.key_heads, 1, into.key);
  sparse::AttentionInput& input = into.input;
  input.shape = {x.batch, x.heads, x.queries, x.keys};
  input.depth = x.size;
  input.query = into.query.data(), input.key = into.key.data();
  input.scale = scaled ? 1.0F : static_cast<float>(x.scale);
  input.causal = x.reach_ahead == 0 && x.query_offset == x.keys - x.queries;
  mark(x, x.queries, x.query_lengths, input.valid_rows);
  mark(x, x.keys, x.key_lengths, input.valid_columns);
  if (x.bias == nullptr) return;
  ORRERY_CHECK(x.bias_head == 0 && x.bias_query == 0, "a bias beside pruning hides keys");
  if (input.valid_columns.empty()) input.valid_columns.assign(static_cast<std::size_t>(x.batch * x.keys), 1);
  for (Index b = 0; b < x.batch; ++b)
    for (Index k = 0; k < x.keys; ++k)
      if (std::isinf(x.bias[b * x.bias_batch + k])) input.valid_columns[static_cast<std::size_t>(b * x.keys + k)] = 0;
}

void gather_values(kernels::Context& context, const Attention& x, std::vector<float>& into) {
  copy(context, x, x.value, x.value_size, x.keys, x.key_lengths, x.key_starts, x.heads / x.key_heads, 1, into);
}

}  // namespace orrery::study
