// y = drop(norm(scale W[word] + P[position] + T[type])).
//
// Backwards each table's row receives the sum of the gradients of the tokens that read it. Threads share the columns,
// not the tokens: each adds to rows in the order of the tokens, so that sums do not depend on the threads.
#include "orrery/runtime/network/embedding.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/runtime/kernels/rows.h"

namespace orrery::network {
namespace {

constexpr Index kColumns = 64;  // of a task
constexpr Index kRows = 16;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

// `task(row, position)` for the tokens of all sequences that are no padding.
template <class Task>
void for_tokens(const Tokens& tokens, const Task& task) {
  for (Index s = 0; s < tokens.sequences; ++s)
    for (Index p = 0; p < tokens.length_of(s); ++p) task(s * tokens.length + p, tokens.first + p);
}

}  // namespace

base::Diagnostics checked(const Tokens& tokens, const EmbeddingShape& shape) {
  base::Diagnostics found;
  if (tokens.first + tokens.length + shape.first_position > shape.positions)
    found
        .error("O1641",
               fmt::format("{} tokens are more than the model has positions for", tokens.first + tokens.length))
        .note(
            fmt::format("{} of its {} positions can be used", shape.positions - shape.first_position, shape.positions));
  const auto beyond = [&](const std::vector<std::int32_t>& list, Index most, const char* what) {
    const auto bad = std::find_if(list.begin(), list.end(), [&](std::int32_t id) { return id < 0 || id >= most; });
    if (bad != list.end())
      found.error("O1641", fmt::format("{} {} does not exist: the model has {}", what, *bad, most))
          .hint("is the tokenizer that of the model? tokens that were added to one alone have no vector");
  };
  beyond(tokens.words, shape.words, "token");
  beyond(tokens.types, std::max<Index>(shape.types, 1), "token type");
  return found;
}

Embedding::Embedding(const EmbeddingShape& shape, Index width, float epsilon, Index rows, bool training)
    : shape_(shape), width_(width), epsilon_(epsilon), sum_(at(rows * width)) {
  if (training && shape.norm) standard_.resize(at(rows * width)), inverse_.resize(at(rows));
}

void Embedding::forward(kernels::Context& context, const Tokens& tokens, const EmbeddingWeights& weights,
                        const std::vector<float>& words, const kernels::DropPattern& drop, void* out,
                        kernels::Type type) {
  const Index rows = tokens.sequences * tokens.length, width = width_;
  context.pool().run((rows + kRows - 1) / kRows, [&](Index task, int) {
    for (Index row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      float* const sum = sum_.data() + row * width;
      const Index position = row % tokens.length;
      if (position >= tokens.length_of(row / tokens.length)) {
        std::fill_n(sum, width, 0.0F);
        continue;
      }
      const float* const word = words.data() + tokens.words[at(row)] * width;
      const float* const place = weights.positions.data() + (shape_.first_position + tokens.first + position) * width;
      for (Index i = 0; i < width; ++i) sum[i] = shape_.scale * word[i] + place[i];
      if (shape_.types == 0) continue;
      const float* const kind = weights.types.data() + (tokens.types.empty() ? 0 : tokens.types[at(row)]) * width;
      for (Index i = 0; i < width; ++i) sum[i] += kind[i];
    }
  });
  if (shape_.norm) {
    kernels::Normalise norm;
    norm.in = norm.out = sum_.data();
    norm.in_stride = norm.out_stride = norm.standard_stride = width;
    norm.rows = rows, norm.columns = width;
    norm.epsilon = epsilon_;
    norm.scale = weights.scale.data(), norm.shift = weights.shift.data();
    if (!standard_.empty()) norm.standard = standard_.data(), norm.inverse = inverse_.data();
    kernels::normalise(context, norm);
  }
  kernels::Finish last;
  last.in = sum_.data();
  last.in_stride = last.out_stride = width;
  last.rows = rows, last.columns = width;
  last.drop = drop;
  last.out = out, last.out_type = type;
  kernels::finish(context, last);
}

void Embedding::backward(kernels::Context& context, const Tokens& tokens, const EmbeddingWeights& weights,
                         const kernels::DropPattern& drop, const void* gradient, kernels::Type type,
                         EmbeddingWeights& gradients, std::vector<float>& words) {
  const Index rows = tokens.sequences * tokens.length, width = width_;
  kernels::Finish first;
  first.in = gradient, first.in_type = type;
  first.in_stride = first.out_stride = width;
  first.rows = rows, first.columns = width;
  first.drop = drop;
  first.out = sum_.data();
  kernels::finish(context, first);
  if (shape_.norm) {
    // A padding row's gradient is zero, and so are its parts of all sums.
    kernels::NormaliseBack norm;
    norm.gradient = sum_.data(), norm.standard = standard_.data(), norm.inverse = inverse_.data();
    norm.gradient_stride = norm.standard_stride = norm.out_stride = width;
    norm.rows = rows, norm.columns = width;
    norm.scale = weights.scale.data();
    norm.out = sum_.data();
    norm.scale_gradient = gradients.scale.data(), norm.shift_gradient = gradients.shift.data();
    kernels::normalise_back(context, norm);
  }
  std::fill(gradients.positions.begin(), gradients.positions.end(), 0.0F);
  std::fill(gradients.types.begin(), gradients.types.end(), 0.0F);
  context.pool().run((width + kColumns - 1) / kColumns, [&](Index task, int) {
    const Index begin = task * kColumns, end = std::min(width, begin + kColumns);
    for_tokens(tokens, [&](Index row, Index position) {
      const float* const from = sum_.data() + row * width;
      float* const word = words.data() + tokens.words[at(row)] * width;
      float* const place = gradients.positions.data() + (shape_.first_position + position) * width;
      for (Index i = begin; i < end; ++i) word[i] += shape_.scale * from[i], place[i] += from[i];
      if (shape_.types == 0) return;
      float* const kind = gradients.types.data() + (tokens.types.empty() ? 0 : tokens.types[at(row)]) * width;
      for (Index i = begin; i < end; ++i) kind[i] += from[i];
    });
  });
}

}  // namespace orrery::network
