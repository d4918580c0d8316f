// What a layer computes and moves, operator by operator and at four levels of fusion. Nothing is measured and nothing
// known of a machine: words are numbers of the type that is computed in.
//
//   unfused      contractions, and each other operator alone
//   fused        contractions, and the kernels that fusion.h makes of the others; Substation's where the layer is its
//   minimal      minimal.h
//   compulsory   the layer's input, its weights and its output; backward gradients, too: what must be moved if a pass
//   has
//                nothing but these in memory
//
// Each operand counts once an operator, however large, each result once, masks as whole tensors. Contractions count 2 M
// N K operations also where a mask hides scores; what of it the mask leaves is counted beside.
#pragma once

#include <string>
#include <vector>

#include "orrery/runtime/tuning/fusion.h"
#include "orrery/runtime/tuning/minimal.h"

namespace orrery::tuning {

struct ProfileRow {
  std::string name;
  Class what = Class::kElementWise;
  bool backward = false;
  std::string einsum;  // of a contraction
  base::Count m = 0, n = 0, k = 0, batch = 0;
  std::string space, reduced;  // of a kernel
  std::vector<std::string> operators;
  base::Count flop = 0, flop_seen = 0;  // `flop_seen`: of scores, those that no mask hides
  base::Count words_read = 0, words_written = 0;
  base::Count words_unread = 0;  // of those written, what nothing reads

  base::Count words() const { return words_read + words_written; }
};

struct MovedRow {
  std::string name;
  bool backward = false;
  base::Count words_read = 0, words_written = 0;
};

// Of one pass.
struct ProfileTotals {
  base::Count flop = 0, flop_contractions = 0, flop_seen = 0;
  base::Count words_contractions = 0;
  base::Count words_unfused = 0, words_fused = 0, words_minimal = 0, words_compulsory = 0;
};

struct OperatorProfile {
  Sizes sizes;
  bool training = false;
  std::vector<ProfileRow> operators;   // fused, in launch order
  std::vector<ProfileRow> elementary;  // those that are fused, alone
  std::vector<MovedRow> minimal;
  base::Count weights = 0;  // words
  ProfileTotals forward, backward, total;
};

// Throws base::OverflowError where a count exceeds 64 bits.
OperatorProfile operator_profile(const LayerOptions& options);

// How far one operator is from a machine's limits, given the time that it takes: measured or modelled.
//
// MUE (Fuhrer et al. 2018), memory usage efficiency: words that must be moved over words that are, times bandwidth
// reached over peak bandwidth. What must be moved are its operands and those results that something reads. By
// Substation's criterion an operator is bound by memory where its MUE is more than its share of the peak of arithmetic.
struct Efficiency {
  double mue = 0;         // percent
  double peak_share = 0;  // percent of the peak of arithmetic
  bool memory_bound() const { return mue > peak_share; }
};
struct Rates {
  double flop_per_s = 0, bytes_per_s = 0;  // peaks
  double bytes_per_word = 4;
};
Efficiency efficiency(const ProfileRow& row, double seconds, const Rates& peaks);

}  // namespace orrery::tuning
