// What a transformer layer is: its sizes and options, its weights, and what is wrong with them before anything runs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/kernels/function_table.h"

namespace orrery::layer {

using kernels::Index;

enum class Place { kPost, kPre };  // of the norms

// Rotary positions turn pairs of a head's elements by an angle that grows with the position: element i with i + size /
// 2 (as Hugging Face's Llama), or 2 i with 2 i + 1 (as GPT-J and the paper).
enum class Rotary { kNone, kHalves, kPairs };

struct Shape {
  Index batch = 1, length = 1;  // at most so many sequences of so many tokens at once
  Index width = 0, heads = 0, hidden = 0;
  kernels::Activation activation = kernels::Activation::kGelu;  // kRelu, kGelu, kGeluTanh or kSilu
  bool gated = false;                                           // SwiGLU with kSilu
  Place norms = Place::kPost;
  bool centred = true;                       // LayerNorm; else RMSNorm, with a shift if `shift`
  kernels::Type type = kernels::Type::kF32;  // or kBf16; kF16 and kF64 by plain loops, for comparisons
  bool causal = false;
  float epsilon = 1e-5F;
  Index key_heads = 0;    // heads of keys and values, each shared by heads / key_heads queries; 0: heads
  Index head_size = 0;    // 0: width / heads
  Index window = 0;       // keys less than so far away are seen; 0: all
  float score_scale = 0;  // of scores; 0: 1 / sqrt(head_size)
  Rotary rotary = Rotary::kNone;
  double rotary_base = 10000;
  Index rotary_size = 0;                      // the first elements of a head, which are turned; 0: all
  bool qkv_bias = true, out_bias = true;      // which exist: of queries, keys, values; of attention's output,
  bool network_bias = true, shift = true;     // of the network's maps, of norms
  bool cross = false;                         // cross attention follows attention: a decoder's layer
  Index memory_length = 0, memory_width = 0;  // of what it looks at; a width of 0: width

  Index kv_heads() const { return key_heads == 0 ? heads : key_heads; }
  Index head() const { return head_size != 0 || heads == 0 ? head_size : width / heads; }
  Index query_width() const { return heads * head(); }
  Index key_width() const { return kv_heads() * head(); }
  Index memory() const { return memory_width == 0 ? width : memory_width; }
  Index turned() const { return rotary_size == 0 ? head() : rotary_size; }
  double score_factor() const { return score_scale != 0 ? score_scale : 1 / std::sqrt(static_cast<double>(head())); }
  Index qkv_width() const { return query_width() + 2 * key_width(); }
};

// Probabilities to be dropped when training, one for each place.
struct Dropout {
  double attention = 0, first = 0, hidden = 0, second = 0;  // `first`: behind attention, `second`: behind the network
  double cross_attention = 0, cross = 0;
};

// fp32 numbers, matrices row-major [outputs][inputs]. As gradients: of a sum over all tokens. What the shape does not
// have is empty.
struct Weights {
  std::vector<float> qkv, qkv_bias;    // queries, keys, values below one another; heads beside one another
  std::vector<float> out, out_bias;    // width x query_width
  std::vector<float> up, up_bias;      // hidden x width
  std::vector<float> gate, gate_bias;  // hidden x width, if gated
  std::vector<float> down, down_bias;  // width x hidden
  std::vector<float> scale1, shift1, scale2, shift2;         // norms of attention and of the network
  std::vector<float> cross_query, cross_query_bias;          // query_width x width
  std::vector<float> cross_key_value, cross_key_value_bias;  // 2 key_width x memory_width: keys, then values
  std::vector<float> cross_out, cross_out_bias;              // width x query_width
  std::vector<float> cross_scale, cross_shift;               // norm of cross attention

  Weights() = default;                   // empty
  explicit Weights(const Shape& shape);  // zeros; scales 1
  // All of them, in this order.
  static constexpr std::size_t kParts = 22;
  std::array<std::vector<float>*, kParts> all();
  std::array<const std::vector<float>*, kParts> all() const;
  static std::array<Index, kParts> sizes(const Shape& shape);  // how many numbers each has
};

// Everything that keeps such a layer from being run, each with the arithmetic (O1503 to O1510).
base::Diagnostics checked(const Shape& shape);
// The same of a call: sequences' lengths within `length` (O1506), probabilities (O1511).
base::Diagnostics checked(const Index* lengths, Index batch, Index length);
base::Diagnostics checked(const Dropout& dropout);
base::Diagnostics checked(const Weights& weights, const Shape& shape);

}  // namespace orrery::layer
