// A transformer's encoder layer that runs on this machine: attention and a feed-forward network, each with dropout, a
// residual and a norm.
//
//   post-norm: r = norm1(x + drop1(attention(x)));  y = norm2(r + drop3(ff(r)))
//   pre-norm:  r = x + drop1(attention(norm1(x)));  y = r + drop3(ff(norm2(r)))
//   attention(x) = Wo (drop0(softmax(Q K^T / sqrt(P))) V) + bo,  Q, K, V = Wqkv x + bqkv
//   ff(x) = W2 drop2(f(W1 x + b1)) + b2, gated: W2 drop2(f(Wg x + bg) (W1 x + b1)) + b2
//
// Master weights and all gradients are fp32. With kBf16, activations are kept in bf16, and products take bf16 operands
// (weights are rounded once when they are packed) and sum in fp32. All memory is planned when the layer is made.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/kernels/context.h"

namespace orrery::layer {

using kernels::Index;

enum class Place { kPost, kPre };  // of the norms

struct Shape {
  Index batch = 1, length = 1;  // tokens: batch * length
  Index width = 0, heads = 0, hidden = 0;
  kernels::Activation activation = kernels::Activation::kGelu;  // kRelu, kGelu or kSilu
  bool gated = false;                                           // SwiGLU with kSilu
  Place norms = Place::kPost;
  bool centred = true;                       // LayerNorm; else RMSNorm, with a shift all the same
  kernels::Type type = kernels::Type::kF32;  // or kBf16
  bool causal = false;
  float epsilon = 1e-5F;
};

// Probabilities to be dropped when training, one for each place.
struct Dropout {
  double attention = 0, first = 0, hidden = 0, second = 0;
};

// fp32 numbers, matrices row-major [outputs][inputs]. As gradients: of a sum over all tokens.
struct Weights {
  std::vector<float> qkv, qkv_bias;    // 3 width x width: queries, keys, values; heads beside one another
  std::vector<float> out, out_bias;    // width x width
  std::vector<float> up, up_bias;      // hidden x width
  std::vector<float> gate, gate_bias;  // hidden x width when gated, else empty
  std::vector<float> down, down_bias;  // width x hidden
  std::vector<float> scale1, shift1, scale2, shift2;

  explicit Weights(const Shape& shape);  // zeros; scales 1
  std::vector<std::vector<float>*> all();
};

class Encoder {
 public:
  // Throws base::InternalError for sizes of zero, heads that do not divide the width, heads of more than 512 elements;
  // std::bad_alloc without memory. `training` plans room for what the backward pass needs.
  Encoder(kernels::Context& context, const Shape& shape, const Weights& weights, bool training);

  // Packs new weights, as after a step of an optimiser.
  void set_weights(const Weights& weights);

  // x and y: [batch][length][width] in the shape's type, not overlapping. `lengths`: valid tokens of each sequence;
  // keys beyond are not seen (null: all). What stands in padding rows of y is finite but of no meaning.
  void infer(const void* x, void* y, const Index* lengths = nullptr);

  // The same with dropout, keeping what backward() needs. x must stay until then.
  void forward(const void* x, void* y, const Dropout& dropout, std::uint64_t seed, const Index* lengths = nullptr);

  // From the gradient of y to that of x, and of all weights (overwritten). Once after each forward().
  void backward(const void* dy, void* dx, Weights& gradients);

  std::size_t saved_bytes() const;  // between forward and backward, x excluded

 private:
  struct State;
  struct Release {
    void operator()(State* state) const;
  };
  std::unique_ptr<State, Release> state_;
};

}  // namespace orrery::layer
