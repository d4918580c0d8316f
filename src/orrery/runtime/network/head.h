// What stands behind the last layer: logits of picked tokens, their loss, its gradients.
#pragma once

#include <functional>
#include <vector>

#include "orrery/runtime/layer/linear.h"
#include "orrery/runtime/network/description.h"
#include "orrery/runtime/network/parameters.h"

namespace orrery::network {

class Head {
 public:
  Head(const HeadShape& shape, Index width, float epsilon, bool training);

  // `words`: the table of words' vectors, for tied heads.
  void set_weights(kernels::Context& context, const HeadWeights& weights, const std::vector<float>& words);

  // x: [rows][width]; out: [rows][outputs].
  void logits(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, float* out);

  // Takes some rows at a time, so that the logits of a large vocabulary are never all in memory. `loss` replaces logits
  // of rows [first, first + rows) by their gradient and returns their loss; the sum is returned. Writes dx, sets the
  // gradients of the head, and adds to those of the words where it is tied.
  using Loss = std::function<double(Index first, Index rows, float* logits)>;
  double learn(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, double dropout,
               std::uint64_t seed, const Loss& loss, float* dx, HeadWeights& gradients, std::vector<float>& words);
  // The loss alone.
  double loss(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, const Loss& loss);

 private:
  struct Chunk;
  void forward(kernels::Context& context, const HeadWeights& weights, const float* x, Chunk& chunk) const;
  void backward(kernels::Context& context, const HeadWeights& weights, Chunk& chunk, float* dx, HeadWeights& gradients,
                std::vector<float>& words) const;
  template <class Then>
  double each_chunk(kernels::Context& context, const HeadWeights& weights, const float* x, Index rows, Chunk& chunk,
                    const Then& then) const;
  Index chunk_rows(Index rows) const;

  HeadShape shape_;
  Index width_;
  float epsilon_;
  layer::Linear dense_, out_;
};

}  // namespace orrery::network
