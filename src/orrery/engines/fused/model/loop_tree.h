// The decision: a loop tree with uneven placement.
//
// Each einsum has its own line of steps, outside in: temporal loops, loops spread over a fan-out, and holds. A hold
// says that from here on a storage holds the tile of a tensor that the steps below it span: each tensor has its own
// place. What lines up lines into a tree is `shared`: so many outermost temporal loops of a branch are those of the
// branch before it: they run once, and their body is a sequence of branches. Such loops may step variables of different
// names.
//
// The outermost storage holds all of every tensor without a step, unless a hold is marked `exchange`: then the tensor
// lives there and nowhere further out, and every branch that touches it says so.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/fused/model/fused_problem.h"

namespace orrery::fused {

struct Step {
  enum class Kind { kHold, kLoop, kSpread };
  Kind kind = Kind::kLoop;
  int access = -1;        // kHold: of the branch's einsum
  int storage = -1;       // kHold
  int variable = -1;      // kLoop, kSpread: in Problem::variables
  int fanout = -1;        // kSpread
  Count count = 1;        // kLoop, kSpread
  bool exchange = false;  // kHold: einsums hand the tensor on here

  bool operator==(const Step&) const = default;
};

struct Branch {
  int einsum = 0;
  int shared = 0;  // its outermost loops that the branch before it has opened
  std::vector<Step> steps;

  bool operator==(const Branch&) const = default;
};

struct Tree {
  std::vector<Branch> branches;  // in the order in which they run

  bool operator==(const Tree&) const = default;
};

inline Step hold(int access, int storage, bool exchange = false) {
  return {Step::Kind::kHold, access, storage, -1, -1, 1, exchange};
}
inline Step loop(int variable, Count count) {
  return {Step::Kind::kLoop, -1, -1, variable, -1, count};
}
inline Step spread(int variable, int fanout, Count count) {
  return {Step::Kind::kSpread, -1, -1, variable, fanout, count};
}

// Where a tensor is handed on: at `storage`, below `loops` temporal loops. The outermost storage has 0 and none.
struct Exchange {
  int storage = 0;
  int loops = 0;
};
// Of a tensor that `branch` touches through `access`.
Exchange exchange_of(const Problem& problem, const Branch& branch, int access);

// How many of a branch's loops stand above its innermost exchanged tensor.
int fused_loops(const Problem& problem, const Branch& branch);

}  // namespace orrery::fused
