// A transformer's layer that runs on this machine: attention, in a decoder's layer cross attention, and a feed-forward
// network, each with dropout, a residual and a norm.
//
//   post-norm: r = norm1(x + drop1(attention(x)));  [r = norm3(r + drop5(cross(r, m)));]  y = norm2(r + drop3(ff(r)))
//   pre-norm:  r = x + drop1(attention(norm1(x)));  [r = r + drop5(cross(norm3(r), m));]  y = r + drop3(ff(norm2(r)))
//   attention(x) = Wo (drop0(softmax(Q K^T / sqrt(P))) V) + bo,  Q, K, V = Wqkv x + bqkv; K, V of m in cross attention
//   ff(x) = W2 drop2(f(W1 x + b1)) + b2, gated: W2 drop2(f(Wg x + bg) (W1 x + b1)) + b2
//
// Master weights and all gradients are fp32. With kBf16, activations are kept in bf16, and products take bf16 operands
// (weights are rounded once when they are packed) and sum in fp32. All memory is planned when the layer is made.
// docs/model/layer.md has the equations, forwards and backwards.
#pragma once

#include <cstdint>
#include <memory>

#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/layer/arena.h"
#include "orrery/runtime/layer/attention_core.h"
#include "orrery/runtime/layer/cache.h"
#include "orrery/runtime/layer/profile.h"
#include "orrery/runtime/layer/run_requirements.h"
#include "orrery/runtime/layer/shape.h"

namespace orrery::layer {

// Added to scaled scores, -inf hides a key: of batch b, head h, query j and key k data[b * batch + h * head + j * query
// + k]. A stride of 0 repeats it.
struct Mask {
  const float* data = nullptr;  // null: none
  Index batch = 0, head = 0, query = 0;
};

// What one call is given. Tensors are [batch][length][width] in the shape's type.
struct Input {
  const void* x = nullptr;
  Index batch = 0, length = 0;     // 0: the shape's; at most these
  const Index* lengths = nullptr;  // tokens of each sequence; what lies beyond is padding, and not looked at; null: all
  Mask mask;
  // Cross attention: of the encoder's output.
  const void* memory = nullptr;  // [batch][memory_length][memory_width]
  Index memory_length = 0;       // 0: the shape's
  const Index* memory_lengths = nullptr;
  Mask memory_mask;
};

// Gradients of a call's inputs, in the shape's type; zeros in padding.
struct InputGradients {
  void* x = nullptr;
  void* memory = nullptr;   // null: not wanted
  bool add_memory = false;  // to what stands there: several layers look at one memory
};

struct LayerState;

class Encoder {
 public:
  // Throws base::InputError with what checked() finds; std::bad_alloc without memory. `training` plans room
  // for what the backward pass needs.
  Encoder(kernels::Context& context, const Shape& shape, const Weights& weights, bool training,
          std::shared_ptr<Workspace> workspace = nullptr);

  // Packs new weights, as after a step of an optimiser.
  void set_weights(const Weights& weights);

  // x and y: [batch][length][width] in the shape's type, not overlapping. `lengths`: valid tokens of each sequence
  // (null: all). Nothing is computed for padding; y is zero there.
  void infer(const void* x, void* y, const Index* lengths = nullptr);
  void infer(const Input& input, void* y);

  // The next tokens of each sequence, behind those in the cache; they are added to it. As many
  // sequences as the cache was made for, which may be fewer than the shape's; `lengths` must be null.
  void infer(const Input& input, void* y, Cache& cache);

  // The same with dropout, keeping what backward() needs. What the input points to must stay until then. A token's
  // row in dropout's patterns is its number among those that are no padding.
  void forward(const void* x, void* y, const Dropout& dropout, std::uint64_t seed, const Index* lengths = nullptr);
  void forward(const Input& input, void* y, const Dropout& dropout, std::uint64_t seed);

  // From the gradient of y to that of x, and of all weights (overwritten). Once after each forward().
  void backward(const void* dy, void* dx, Weights& gradients);
  void backward(const void* dy, const InputGradients& dx, Weights& gradients);

  // In place of the built-in attention; null: the built-in one. They must outlive the layer.
  void replace_attention(AttentionCore* core);
  void replace_cross_attention(AttentionCore* core);

  // Records every operator until it is detached by null. It must outlive that.
  void attach(Profile* profile);

  const Shape& shape() const;
  std::size_t saved_bytes() const;    // between forward and backward, x excluded
  std::size_t passing_bytes() const;  // within a pass, in the workspace

 private:
  struct Release {
    void operator()(LayerState* state) const;
  };
  std::unique_ptr<LayerState, Release> state_;
};

// A decoder's layer is one with a shape that is causal, and `cross` where it looks at an encoder.
using Decoder = Encoder;

}  // namespace orrery::layer
