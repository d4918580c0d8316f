// Lifetimes in a loop tree.
//
// Cut the sequence of branches at depth d, inside one pass of the d outermost loops, where no loop deeper than d is
// shared: each piece runs one after the other. A piece whose branches share loop d + 1 goes through it many times, so
// all that stands at depth d in any of its branches lives as long as the whole piece, and to it comes the worst moment
// inside the loop:
//
//   peak(a..b, d) = max over the pieces i..j of
//       own tiles at depth d of i..j  +  tensors at depth d that live in any of i..j
//       + (nothing if i = j has no further fused loop, else peak(i..j, d + 1))
//
// A tensor that lives longer than its branches touch it counts in between, and, as the loop comes round again, over the
// whole piece that contains one of them.
#include "orrery/engines/fused/model/lifetimes.h"

#include <algorithm>

namespace orrery::fused {
namespace {

struct Lives {
  const std::vector<Private>& branches;
  const std::vector<Living>& tensors;
  const std::vector<int>& shared;

  double piece(int first, int last, int depth) const {
    double bits = 0;
    for (int b = first; b <= last; ++b)
      if (depth < static_cast<int>(branches[b].bits.size())) bits += branches[b].bits[depth];
    for (const Living& t : tensors)
      if (t.depth == depth && t.first <= last && t.last >= first) bits += t.bits;
    if (first < last || branches[first].fused > depth) bits += peak(first, last, depth + 1).bits;
    return bits;
  }

  Peak peak(int first, int last, int depth) const {
    Peak most;
    for (int i = first; i <= last;) {
      int j = i;
      while (j < last && shared[j + 1] > depth) ++j;
      const double bits = piece(i, j, depth);
      if (bits > most.bits || most.first < 0) most = {bits, kUnlimited, i, j};
      i = j + 1;
    }
    return most;
  }
};

}  // namespace

Peak peak(const std::vector<Private>& branches, const std::vector<Living>& tensors, const std::vector<int>& shared) {
  if (branches.empty()) return {};
  return Lives{branches, tensors, shared}.peak(0, static_cast<int>(branches.size()) - 1, 0);
}

}  // namespace orrery::fused
