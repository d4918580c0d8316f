#include "orrery/verbs/sparse/rtl/rtl_vectors.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

namespace orrery::verbs {
namespace {

using base::Count;

// Heads 0 to `heads` - 1 of sequence 0.
std::vector<float> first_heads(const std::vector<float>& all, Count heads, Count tokens, Count depth) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(heads * tokens * depth)};
}
std::vector<std::uint8_t> first_sequence(const std::vector<std::uint8_t>& valid, Count tokens) {
  return valid.empty() ? valid
                       : std::vector<std::uint8_t>(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(tokens));
}

void take(const ArrayCase& one, const SparseRtlRequest& request, RtlVectors& v) {
  const masks::MaskShape& shape = one.shape;
  const std::string what = one.name.empty() ? "the arrays" : fmt::format("`{}`", one.name);
  if (request.matrices > shape.heads)
    base::fail("O1971", fmt::format("{} heads of {}, which have {}", request.matrices, what, shape.heads), {},
               fmt::format("give `--matrices` up to {}", shape.heads));
  if (shape.rows < 1 || shape.columns < 1 || shape.rows >= 65536 || shape.columns >= 65536)
    base::fail("O1971", fmt::format("{} of {} queries and {} keys do not fit", what, shape.rows, shape.columns), {},
               "the registers of lengths have 16 bits: give 1 to 65535 of each");
  v.work.shape = {1, request.matrices, shape.rows, shape.columns};
  v.work.scale = one.scale, v.work.causal = one.causal;
  v.depth = one.depth, v.code_bits = one.code_bits;
  if (!one.query.empty()) {
    v.query = first_heads(one.query, request.matrices, shape.rows, one.depth);
    v.key = first_heads(one.key, request.matrices, shape.columns, one.depth);
    v.value = first_heads(one.value, request.matrices, shape.columns, one.depth);
  }
  if (one.mask) {
    v.mask = masks::Mask(v.work.shape);
    v.mask.causal = one.mask->causal;
    v.mask.valid_rows = first_sequence(one.mask->valid_rows, shape.rows);
    v.mask.valid_columns = first_sequence(one.mask->valid_columns, shape.columns);
    for (Count h = 0; h < request.matrices; ++h)
      for (Count row = 0; row < shape.rows; ++row)
        for (Count column = 0; column < shape.columns; ++column)
          if (one.mask->kept(0, h, row, column)) v.mask.keep(0, h, row, column);
    v.work.mask = &v.mask;
  } else {
    v.work.prediction = one.prediction;
    v.work.valid_rows = first_sequence(one.valid_rows, shape.rows);
    v.work.valid_columns = first_sequence(one.valid_columns, shape.columns);
  }
}

// Uniform whole numbers, so that the same seed gives the same file with every standard library.
void draw(std::uint64_t seed, RtlVectors& v) {
  std::mt19937_64 random(seed);
  const auto fill = [&](std::vector<float>& x, Count tokens, float reach) {
    x.resize(static_cast<std::size_t>(v.work.shape.heads * tokens * v.depth));
    for (float& one : x) one = (static_cast<float>(random() >> 44U) / 524288.0F - 1) * reach;
  };
  fill(v.query, v.work.shape.rows, 4), fill(v.key, v.work.shape.columns, 2), fill(v.value, v.work.shape.columns, 2);
}

}  // namespace

RtlVectors::RtlVectors(const SparseRtlRequest& request, std::vector<base::Input>& inputs, base::Diagnostics& warnings) {
  RtlVectors& v = *this;
  if (request.given) {
    ArrayCases cases = read_array_cases(request.input, {});
    inputs = std::move(cases.inputs), warnings = std::move(cases.warnings);
    if (cases.cases.empty()) base::fail("O1971", "there is nothing to run", {}, "give texts with a token at least");
    take(cases.cases.front(), request, v);
  } else {
    const Count tokens =
        request.tokens.value_or(std::min(request.keys.value_or(512), 2 * request.choice.instance.array.rows));
    v.work.shape = {1, request.matrices, tokens, tokens};
    v.depth = request.depth.value_or(64), v.code_bits = request.bits.value_or(4);
    v.work.scale = 1 / std::sqrt(static_cast<double>(v.depth));
    v.work.prediction = accelerator::Prediction{request.input.threshold.value_or(0.01), true, 0.5, 0.5};
  }
  if (v.query.empty()) draw(request.seed, v);
  v.keys = v.work.shape.columns, v.work.depth = v.depth;
  v.work.query = v.query.data(), v.work.key = v.key.data(), v.work.value = v.value.data();
}

}  // namespace orrery::verbs
