// The seam between what is written once for all machines and what is compiled once for each instruction set: plain
// arguments and a table of function pointers. Nothing here allocates, starts threads or checks its input; the public
// functions (product.h, attention.h, rows.h) do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "orrery/runtime/kernels/isa.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::kernels {

using Index = std::int64_t;

// Matrix products work on units of 32 bits: one float, two bf16, two int16 or four int8 that lie behind one another in
// the direction that is summed over. A packed A has rows of units at this distance, whatever its depth, so that the
// distances are constants of the code; an odd number of cache lines, so that rows do not fall into one set of a cache.
// Rows of at most kNarrowDepth units may lie at kNarrowUnits, where more of them share a page of memory.
inline constexpr int kDepthUnits = 1024, kNarrowDepth = 256;
inline constexpr int kRowUnits = kDepthUnits + 16, kNarrowUnits = kNarrowDepth + 16;

// How the numbers of a product are multiplied.
enum class Arithmetic : std::uint8_t {
  kF32,        // fp32 multiplications and additions
  kBf16Wide,   // operands rounded to bf16, multiplied as fp32
  kBf16Dot,    // the same by vdpbf16ps: twice as fast where the machine does it at full rate
  kInt8,       // int8 times int8 into int32
  kUint8,      // uint8 times int8 into int32
  kBf16Tiles,  // bf16 by AMX
  kF32Tiles,   // fp32 as three bf16 each, six products of them, by AMX (kernel_tile_product.h)
  kInt4,       // int8 from -8 to 7, of depths up to 256: where kInt8 is slow, without vpdpbusd
};
inline constexpr int kArithmetics = 8;
inline constexpr int kInt4Depth = 256;

// Part of a matrix: element (i, d) of `rows` x `depth` lies at data[i * row_stride + d * depth_stride].
struct Panels {
  const void* data = nullptr;
  Type type = Type::kF32;
  Index row_stride = 0, depth_stride = 1;
  Index rows = 0, depth = 0;
};

// c = a b or c += a b on packed operands: c[i * c_stride + j] for `rows` x `columns`, rounded up to whole panels. The
// sums are floats, or int32 with Arithmetic::kInt8.
struct Block {
  const std::uint32_t* a = nullptr;
  const std::uint32_t* b = nullptr;
  Index rows = 0, columns = 0, units = 0;
  void* c = nullptr;
  Index c_stride = 0;
  bool add = false;
};

struct ProductKernels {
  int elements = 0;      // of depth in a step of the inner loop; 0: not at this level
  int units = 1;         // in a step
  int tile_rows = 0;     // of A that the inner loop keeps in registers
  int row_step = 1;      // packed A and the sums have room for rows up to a multiple of this
  int tile_columns = 0;  // of B: the width of a panel
  int header_units = 0;  // rows of units before each panel of B
  // Packs at most kDepthUnits units of depth, up to a whole step. Packed A: row i at out + i * row_units. Packed B
  // (whose "rows" are the columns of the product): panel p at out + p * (units + header_units) * tile_columns, zeros
  // beyond the last column.
  void (*pack_a)(const Panels&, std::uint32_t* out, Index row_units) = nullptr;
  void (*pack_b)(const Panels&, std::uint32_t* out) = nullptr;
  void (*block)(const Block&) = nullptr;         // A's rows at kRowUnits; null for kInt4
  void (*block_narrow)(const Block&) = nullptr;  // A's rows at kNarrowUnits; null for tiles
  // Runs about `steps` independent multiply-adds; returns how many operations (two each) that were.
  double (*spin)(Index steps) = nullptr;
};

// What an instruction set adds to a lower one: those that have elements.
struct Products {
  ProductKernels of[kArithmetics];
};

// Of a matrix: the bits of the largest magnitude (a NaN's are above infinity's), and of the least but 0, minus 1.
struct Magnitudes {
  std::uint32_t largest = 0, least_below = UINT32_MAX;
};

// kGelu is x Phi(x); kGeluTanh its approximation x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as GPT-2 has it.
enum class Activation : std::uint8_t {
  kNone,
  kRelu,
  kGelu,
  kSilu,
  kGeluTanh,
  kReluSlope,
  kGeluSlope,
  kSiluSlope,
  kGeluTanhSlope
};

// Which elements are dropped: element (row, column) of stream `stream` of `seed`, see kernel_dropout.h. `threshold` /
// 65536 is the probability to be dropped; 0 drops nothing.
struct DropPattern {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t threshold = 0;
  float scale = 1;  // of what is kept
};

// What becomes of a block of sums: out = residual + drop(activation(alpha in + old + bias) gate), each part if given.
// With a slope, activation(x) is x times the activation's derivative at `slope_at`.
struct Finish {
  const void* in = nullptr;
  Type in_type = Type::kF32;
  Index in_stride = 0;
  Index rows = 0, columns = 0;
  Index first_row = 0,
        first_column = 0;  // where the block lies in its matrix; pointers below are to the block's corner
  float alpha = 1;
  const float* bias = nullptr;  // a number for each column
  Activation activation = Activation::kNone;
  void* before = nullptr;  // receives what the activation is applied to, in the type of out
  Index before_stride = 0;
  const void* slope_at = nullptr;
  Index slope_stride = 0;
  const void* gate = nullptr;
  Index gate_stride = 0;
  Type gate_type = Type::kF32;
  Type slope_type = Type::kF32;
  DropPattern drop;
  const void* residual = nullptr;
  Type residual_type = Type::kF32;
  Index residual_stride = 0;
  void* out = nullptr;
  Type out_type = Type::kF32;
  Index out_stride = 0;
  bool streamed = false;  // past the caches, where `out` is aligned: for what is larger than they are
};

// Rows to mean 0 and variance 1 (centred) or to mean square 1, times scale, plus shift.
struct Normalise {
  const void* in = nullptr;
  Type in_type = Type::kF32;
  Index in_stride = 0;
  Index rows = 0, columns = 0;
  bool centred = true;
  float epsilon = 1e-5F;
  const float* scale = nullptr;  // 1 when null
  const float* shift = nullptr;  // 0 when null
  void* out = nullptr;
  Type out_type = Type::kF32;
  Index out_stride = 0;
  void* standard = nullptr;  // receives the rows before scale and shift, in the type of out
  Index standard_stride = 0;
  float* inverse = nullptr;  // receives 1 / deviation of each row
};

// The same backwards, from what the forward pass saved.
struct NormaliseBack {
  const void* gradient = nullptr;  // of out
  const void* standard = nullptr;
  const float* inverse = nullptr;
  Type type = Type::kF32;  // of all matrices
  Index gradient_stride = 0, standard_stride = 0;
  Index rows = 0, columns = 0;
  bool centred = true;
  const float* scale = nullptr;
  const void* residual = nullptr;  // added to the gradient of the input, if given
  Index residual_stride = 0;
  void* out = nullptr;  // gradient of the input
  Index out_stride = 0;
  float* scale_gradient = nullptr;  // `columns` sums, added to
  float* shift_gradient = nullptr;
};

struct Softmax {
  const void* in = nullptr;        // scores; backwards: the probabilities
  const void* gradient = nullptr;  // backwards
  Type type = Type::kF32;
  Index in_stride = 0, gradient_stride = 0, out_stride = 0;
  Index rows = 0, columns = 0;
  float scale = 1;  // of the scores
  void* out = nullptr;
};

// Heads of each row turned in place by the angle of the row's position.
struct Rotate {
  void* data = nullptr;
  Type type = Type::kF32;
  Index rows = 0, row_stride = 0;
  Index heads = 1, head_stride = 0;
  Index turned = 0;                  // the first elements of a head; even
  bool pairs = false;                // element 2 i with 2 i + 1; else i with i + turned / 2
  bool back = false;                 // by the negative angle
  const Index* positions = nullptr;  // of each row
  const float* cosines = nullptr;    // [position][turned / 2]
  const float* sines = nullptr;
};

// Heads of attention; attention.h says what each field means. One call computes queries [first_query, end_query) of one
// head (forward), or a head of keys with all heads of queries that share it (backward).
struct AttentionPart;

// A tile of an operator whose operands have layouts of their own (strided_tile.h).
struct StridedTile;
// Rows of scores that are predicted and pruned: prune_part.h.
struct RowSizes;
struct RowCodes;
struct ScoreRow;
struct KeepRow;
struct QuickKeep;

struct Table {
  Level level = Level::kPortable;
  int lanes = 0;
  ProductKernels product[kArithmetics];
  void (*row_sums)(const Panels&, float* sums) = nullptr;  // sums[i] += sum over depth of element (i, d)
  void (*magnitudes)(const Panels&, Magnitudes&) = nullptr;
  void (*finish)(const Finish&) = nullptr;
  void (*normalise)(const Normalise&) = nullptr;
  void (*normalise_back)(const NormaliseBack&) = nullptr;
  void (*softmax)(const Softmax&) = nullptr;
  void (*softmax_back)(const Softmax&) = nullptr;
  void (*rotate)(const Rotate&) = nullptr;
  void (*attention)(const AttentionPart&) = nullptr;
  void (*attention_back)(const AttentionPart&) = nullptr;
  Index (*attention_scratch)(const AttentionPart&, bool back) = nullptr;  // units of 32 bits that a part needs
  void (*strided)(const StridedTile&) = nullptr;
  // out[i] = f(in[i])
  void (*exponential)(const float* in, float* out, Index count) = nullptr;
  void (*activation)(Activation, const float* in, float* out, Index count) = nullptr;
  void (*row_sizes)(const RowSizes&) = nullptr;
  void (*row_codes)(const RowCodes&) = nullptr;
  float (*score_row)(const ScoreRow&) = nullptr;  // returns the largest score
  void (*keep_row)(KeepRow&) = nullptr;
  bool (*keep_row_quickly)(const QuickKeep&) = nullptr;  // false: it is not certain, nothing counts
  // Bit i of bits[i / 16] is set when column i of the row is kept; columns up to a multiple of 128.
  void (*kept)(const DropPattern&, std::uint64_t row, Index columns, std::uint16_t* bits) = nullptr;
};

// The table of a level: that of the widest vectors it has, with the products of each instruction set it adds to them
// (function_table.cc); null when the level was not compiled (other processors).
const Table* table_of(Level level);

}  // namespace orrery::kernels
