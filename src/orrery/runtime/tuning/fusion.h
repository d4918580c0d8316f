// Which operators one kernel can do, derived from their iteration spaces.
//
// A step (layer_operators.h) walks over a space of indices and perhaps reduces some of them. Kernels begin as single
// steps, in launch order, and two of them become one where
//   - they are of the same pass and neither holds a contraction,
//   - their iteration spaces are the same,
//   - at most one of them reduces, or both reduce the same indices: a map may stand before or after a reduction, two
//     reductions over different indices (a row's statistics, sums over tokens) need two walks,
//   - they have to do with each other: one reads what the other writes, both read the same tensor, or both reduce the
//   same,
//   - nothing that must run between them stays outside: no path leads from one through another kernel to the other.
// A step joins the earliest kernel that it may, and kernels that it brings together. What a kernel makes and uses
// itself is not written unless another one reads it.
//
// For Substation's encoder this finds its twelve kernels (fusion_test.cc). It decides for launch order, not for least
// traffic: where the product with a norm's scale may stand with the sums or with the norm's gradient, it stands with
// the sums, as there.
//
// Cost: (steps)^2 pairs, each with one walk over the kernels' graph; some hundred steps of a layer take milliseconds.
#pragma once

#include <string>
#include <vector>

#include "orrery/runtime/tuning/layer_operators.h"

namespace orrery::tuning {

struct Kernel {
  std::string name;  // Substation's where it has one for these operators; else theirs, joined by `+`
  Class what = Class::kElementWise;
  bool backward = false;
  std::string einsum;                  // of a contraction, which stays alone
  std::string space, reduced;          // as of a step
  std::vector<std::string> operators;  // that it does, or parts of them
  std::vector<std::string> reads, writes;
  std::vector<std::string> unread;  // of `writes`, what nothing reads
  base::Count flop = 0;             // in all
};

// In launch order. Throws base::OverflowError.
std::vector<Kernel> fused_kernels(const LayerOperators& layer);

}  // namespace orrery::tuning
