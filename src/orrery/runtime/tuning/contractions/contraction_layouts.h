// In which layouts of its operands a contraction is one call of BLAS.
//
// A contraction of two tensors has four groups of letters: those of all three tensors (a batch), of both operands
// (summed over), of the first operand and the result (M), of the second and the result (N). A layout of the three
// tensors is a product of matrices, or a batch of them, if each group stands in one order wherever it stands, and
// together. Then a group is one index whose stride is the product of the extents to the right of it. BLAS wants, of
// each matrix, stride 1 in one of its two dimensions: layouts in which neither has are counted apart and left out.
//
// BLAS counts columns first. With A, B, C the matrices and m, n, k the dimension of stride 1 in each, C decides: with
// m, the call computes C = A B; with n, its transpose C' = B' A', so operands, M and N change places. Of dimensions
// that both have stride 1, for one of them has extent 1, m is taken before k and n, and n before k, as Substation's
// einsum_perms does.
//
// Every order of every tensor's letters is tried: 17,280 of the largest contraction here.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

struct BlasCall {
  bool transposed_a = false, transposed_b = false;
  base::Count m = 0, n = 0, k = 0;
  base::Count lda = 0, ldb = 0, ldc = 0;  // in words, at least the rows of the matrix as it lies
  base::Count stride_a = 0, stride_b = 0, stride_c = 0, batch = 1;  // strides are 0 without a batch

  bool batched() const { return batch != 1; }
  auto operator<=>(const BlasCall&) const = default;
};

// As einsum_perms and the results of benchmarks write a call: the names of its columns and its cells. Without a batch
// the last four cells are empty.
inline constexpr const char* kCallColumns = "optype,trans_a,trans_b,M,N,K,lda,ldb,ldc,stride_a,stride_b,stride_c,batch";
std::string call_cells(const BlasCall& call);

struct ContractionLayout {
  std::string a, b, c;
  bool swapped = false;  // the call's first operand is `b`
  BlasCall call;
};

struct ContractionSpace {
  base::Count permutations = 0;
  base::Count without_unit_stride = 0;
  std::vector<ContractionLayout> layouts;
  std::vector<BlasCall> calls;  // different ones, in the order in which they first appear
};

// Letters by group; `einsum` is "first,second->result", each letter at most once a tensor and in two of them at least.
struct ContractionGroups {
  std::string batch, sum, first, second;
};
ContractionGroups groups_of(std::string_view einsum);

// "phbk,phbj->hbjk" as its three tensors.
struct EinsumTensors {
  std::string a, b, c;
};
EinsumTensors tensors_of(std::string_view einsum);

// Throws base::OverflowError where a tensor has more words than a Count holds.
ContractionSpace contraction_space(std::string_view einsum, const Sizes& sizes);

struct NamedContraction {
  const char* name;
  const char* einsum;
  bool used =
      true;  // by the encoder's layer; the others are parts of its fused projections, or those of cross attention
};
// Substation's 24, in its order.
const std::vector<NamedContraction>& named_contractions();

}  // namespace orrery::tuning
