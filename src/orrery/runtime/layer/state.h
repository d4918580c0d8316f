// For the layer's own files: what a layer is made of. forward.cc and backward.cc have the equations.
//
// A layer is two or three sublayers (attention, cross attention, the network), each a branch beside the residual
// stream with a norm before it (pre) or behind the sum (post). Tensors are rows of tokens without padding. They are
// named by references, which the arena resolves while an operator's request is written: that is how it knows when they
// live.
//
// Kept for the backward pass, for X = tokens * width and F = tokens * hidden elements of an encoder's layer: Q, K, V
// (3 X), the heads' outputs (X), both norms' rows before scale and shift (2 X), what the activation was applied to (F),
// and a few numbers a token. The norms' outputs and the hidden activation are computed again: one multiplication an
// element. With hidden = 4 width, 10 X: 84 MB in bf16 at 8 x 512 tokens of BERT-large.
#pragma once

#include <memory>
#include <vector>

#include "orrery/runtime/kernels/product.h"
#include "orrery/runtime/layer/arena.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/layer/linear.h"
#include "orrery/runtime/layer/operators.h"
#include "orrery/runtime/layer/tokens.h"

namespace orrery::layer {

// A tensor of the arena, or one that the caller has.
struct Ref {
  int tensor = -1;
  const void* outside = nullptr;

  static Ref of(const void* data) { return {-1, data}; }
};

enum Sublayer { kAttention, kCross, kNetwork };
inline constexpr int kSublayers = 3;
enum DropPlace { kDropScores, kDropFirst, kDropHidden, kDropSecond, kDropCrossScores, kDropCross };
inline constexpr int kDropPlaces = 6;

struct LayerState {
  LayerState(const Shape& shape, bool training, std::vector<Operator>* planned = nullptr);
  void set_weights(kernels::Context& context, const Weights& weights);

  // Sets what a call works on, then runs it.
  void begin(const Input& given, Cache* cache);
  void forward(void* y);
  void backward(const void* dy, const InputGradients& wanted, Weights& gradients);

  // forward.cc
  struct Flow {
    Ref stream, read;  // the residual stream, and what the next branch reads
  };
  Flow attention_forward(const Flow& flow);
  Flow cross_forward(const Flow& flow);
  void network_forward(const Flow& flow, Ref y);
  Flow close(kernels::Product& product, Sublayer sublayer, const Flow& flow, Ref y);
  Flow project(const char* name, const Linear& map, Ref from, DropPlace place, Sublayer sublayer, const Flow& flow);
  kernels::NormaliseRows norm(Sublayer sublayer, Ref out);
  kernels::Attention attention();
  kernels::Attention cross_attention();
  void remember();
  void rotate(Ref qkv, bool back);
  Ref gathered(const char* name, const Tokens& rows, const void* padded, Ref to, Index columns);

  // backward.cc
  struct Branch {
    Ref behind, top;  // gradients: of the sum behind the branch, of the branch's output
  };
  Branch open(Sublayer sublayer, Ref gradient, Weights& gradients);
  void norm_back(Sublayer sublayer, Ref gradient, Ref residual, Ref out, Weights& gradients);
  void finish_back(kernels::Product& last, const char* name, Sublayer sublayer, const Branch& branch, Ref added,
                   Ref out, Weights& gradients);
  Ref read_again(Sublayer sublayer);
  Ref scale_and_shift(Sublayer sublayer);
  kernels::Finish hidden_chain();
  void gate_back(Ref read, Weights& gradients);
  void network_back(Ref gradient, Ref out, Weights& gradients);
  void cross_back(Ref gradient, Ref out, const InputGradients& wanted, Weights& gradients);
  void memory_back(const InputGradients& wanted, Weights& gradients);
  void attention_back(Ref gradient, Ref out, Weights& gradients);

  bool pre() const { return shape.norms == Place::kPre; }
  bool planning() const { return op.context == nullptr; }
  void* at(Ref ref) { return ref.tensor < 0 ? const_cast<void*>(ref.outside) : arena.at(ref.tensor); }
  kernels::Beside rows_of(Ref ref, Index columns) { return {at(ref), shape.type, columns, 0}; }
  // Rows of `columns` elements; numbers of each row or of each row and head.
  Ref room(Index rows, Index columns);
  Ref numbers(Index count);

  Shape shape;
  bool training;
  Arena arena;
  Operators op;
  Linear qkv_map, out_map, up_map, gate_map, down_map, cross_query_map, cross_kv_map, cross_out_map;
  struct Norm {
    std::vector<float> scale, shift;
    Ref standard, inverse;
  } norms[kSublayers];
  AttentionCore *core = nullptr, *cross_core = nullptr;

  // Forwards.
  Ref x_rows, y_rows, memory_rows;  // where there is padding
  Ref stream[kSublayers], read[kSublayers];
  Ref qkv, heads, log_sum, cross_query, cross_kv, cross_heads, cross_log_sum, ungated, before, hidden;
  // Backwards.
  Ref x_again, memory_again, dy_rows, dx_rows, dmemory_rows;
  Ref again[kSublayers], behind[kSublayers], top[kSublayers], into[kSublayers], gradient[kSublayers];
  Ref d_heads, d_qkv, d_cross_heads, d_cross_query, d_cross_kv, hidden_again, d_before, d_ungated, d_through_gate;

  // The call.
  Input input;
  Cache* cache = nullptr;
  Tokens tokens, memory_tokens;
  kernels::DropPattern drop[kDropPlaces];
  bool ready = false;  // forward() has run, for backward()
  std::vector<float> cosines, sines;
  Index turned_positions = 0;  // that these are of
  void know_positions(Index count);
};

}  // namespace orrery::layer
