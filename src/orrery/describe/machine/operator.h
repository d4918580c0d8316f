// What engines ask about at the seam between scales, and what they are told: an operator, and its cost on one
// accelerator.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::machine {

// kBf16 stands for every 16-bit float. Formats with a scale for each block: mxfp8 (OCP Microscaling, 2023: 32 elements,
// a scale of 8 bits), nvfp4 (arXiv 2509.25149: 16 elements, a scale of 8 bits, one of 32 for the tensor).
enum class Precision { kFp32, kTf32, kBf16, kFp8, kMxfp8, kNvfp4, kInt8 };
inline constexpr int kPrecisions = 7;

// Bytes of a stored element, its part of a block's scale among them: tf32 is stored in four.
inline constexpr double bytes_per_element(Precision precision) {
  constexpr std::array<double, kPrecisions> kBytes = {4, 4, 2, 1, 1 + 1.0 / 32, 0.5 + 1.0 / 16, 1};
  return kBytes[static_cast<int>(precision)];
}

// Products alone compute in it: operands are made of 16-bit numbers first, results are in 16 bits.
inline constexpr bool quantised(Precision precision) {
  return bytes_per_element(precision) < 2;
}

inline constexpr std::string_view name(Precision precision) {
  constexpr std::array<std::string_view, kPrecisions> kNames = {"fp32",  "tf32",  "bf16", "fp8",
                                                                "mxfp8", "nvfp4", "int8"};
  return kNames[static_cast<int>(precision)];
}

// `batch` independent products of an m x k by a k x n matrix.
struct MatrixProduct {
  base::Count batch = 1;
  base::Count m = 0, n = 0, k = 0;
  Precision precision = Precision::kBf16;
  double flops() const { return 2.0 * batch * m * n * k; }

  bool operator==(const MatrixProduct&) const = default;
};

// Kernels that compute attention without writing its scores: FlashAttention 1 to 3, cuDNN's, the TPUs' splash
// attention.
enum class AttentionKernel { kNone, kFlash1, kFlash2, kFlash3, kCudnn, kSplash };
inline constexpr int kAttentionKernels = 6;

enum class OperatorKind {
  kProduct,          // of matrices
  kAttention,        // scores, softmax and weighted values in one operator that keeps the scores on chip
  kSparseAttention,  // the same, of a share of the scores
  kNormalisation,    // and what else needs a row at once: softmax
  kElementwise,      // activations, residuals, masks, layouts
  kScan,             // along the tokens: state-space models, convolutions of a few taps
};
std::string_view name(OperatorKind kind);

struct Operator {
  OperatorKind kind = OperatorKind::kProduct;
  MatrixProduct product;        // of attention: `batch` heads of m queries and n keys of width k
  base::Count value_width = 0;  // of attention
  double share = 1;             // of its scores, those that are computed: masks, windows and pruning hide the others
  bool dropout = false;         // of attention: of its probabilities
  AttentionKernel kernel = AttentionKernel::kNone;  // of attention: what computes it; none: nobody says
  bool gradient = false;       // of attention: its backward pass; of a product: of weights, summed over tokens
  bool keeps_weights = false;  // of attention: what its softmax makes goes to memory, where a backward pass reads it
  double bytes = 0;            // of other kinds: to and from memory, reads and writes together

  static Operator of(const MatrixProduct& product, bool gradient = false);
  static Operator moving(OperatorKind kind, double bytes);
};

// What a figure rests on.
enum class Basis { kModelled, kMeasured, kPublished };
std::string_view name(Basis basis);

// What an operator asks of one level of a chip.
struct LevelCost {
  std::string name;
  double bytes = 0;    // in and out, all instances; 0 of compute units
  double seconds = 0;  // that it needs by itself
};

struct Cost {
  double seconds = 0;
  std::optional<double> joules;   // nothing: who answers does not know energies
  std::vector<LevelCost> levels;  // outermost first, compute units last
  std::string binds;              // the level that takes longest, or "compute"
  Basis basis = Basis::kModelled;
  double gap = 0;  // of the seconds over a proven bound, as a share; 0: proven, or nothing was searched
};

}  // namespace orrery::machine
