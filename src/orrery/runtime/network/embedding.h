// Embeddings forwards and backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/network/description.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::network {

// Tokens of sequences, padded on the right: [sequences][length].
struct Tokens {
  Index sequences = 0, length = 0;
  std::vector<std::int32_t> words, types;  // no types: zeros
  std::vector<Index> lengths;              // of each sequence; empty: all
  Index first = 0;                         // the position of the first column: tokens before it are in a cache

  const Index* given_lengths() const { return lengths.empty() ? nullptr : lengths.data(); }
  Index length_of(Index sequence) const {
    return lengths.empty() ? length : lengths[static_cast<std::size_t>(sequence)];
  }
};

// Everything that is wrong with tokens for a model: words beyond the table, too long, ... (O1641).
base::Diagnostics checked(const Tokens& tokens, const EmbeddingShape& shape);

class Embedding {
 public:
  Embedding(const EmbeddingShape& shape, Index width, float epsilon, Index rows, bool training);

  // out: [sequences][length][width] of `type`. `words` is the table of words' vectors.
  void forward(kernels::Context& context, const Tokens& tokens, const EmbeddingWeights& weights,
               const std::vector<float>& words, const kernels::DropPattern& drop, void* out, kernels::Type type);

  // From the gradient of `out`, in its type. Sets the gradients of positions, types and norm; adds to those of words.
  void backward(kernels::Context& context, const Tokens& tokens, const EmbeddingWeights& weights,
                const kernels::DropPattern& drop, const void* gradient, kernels::Type type, EmbeddingWeights& gradients,
                std::vector<float>& words);

 private:
  EmbeddingShape shape_;
  Index width_;
  float epsilon_;
  std::vector<float> sum_, standard_, inverse_;
};

}  // namespace orrery::network
