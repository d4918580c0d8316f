// The order in which the channel serves requests, as a program that the controller steps through.
//
// Before the first tile: keys 0, queries 0, values 0, mask 0. Then for each tile g
//
//   0  what its first two blocks ask for          4  outputs of g - 1
//   1  queries of g + 1                           5  what its other blocks ask for
//   2  keys of m + 1, where g begins matrix m     6  mask of g + 1
//   3  values of m + 1, likewise                  7  wait until it is known where its blocks end
//
// and at the end the last outputs. A block asks for its descriptor, where blocks are given, and for its keys and
// values, where they do not stay in their memories. Steps that ask for nothing take no time.
#pragma once

#include <functional>

#include "orrery/engines/accelerator/run_plan.h"

namespace orrery::accelerator {

enum class Request { kKeys, kQueries, kValues, kMask, kBlock, kFetchKeys, kFetchValues, kStore };

class RequestProgram {
 public:
  // What the controller knows of blocks so far.
  struct Blocks {
    Count packed = 0;                 // that are there
    std::function<Count(Count)> end;  // of a tile: one more than its last block; -1: not known yet
  };

  RequestProgram(const Instance& instance, const RunPlan& plan) : instance_(instance), plan_(plan) {}

  struct Next {
    bool known = false;
    Request what = Request::kKeys;
    Count index = 0;  // of the matrix, tile or block
  };
  // The next request, if it is known yet; the same until it is taken.
  Next next(const Blocks& blocks);
  void take() { ++part_; }

  bool stays(Count m) const;
  bool wants_mask(Count g) const;

 private:
  // The requests of a step: its part_-th, or none when they are through.
  enum class Answer { kAsks, kThrough, kUnknown };
  Answer prologue(Next& next) const;
  Answer ask(const Blocks& blocks, Next& next);
  Answer ask_for_blocks(const Blocks& blocks, Next& next);
  Answer one(bool wanted, Request what, Count index, Next& next) const;
  Count tiles() const { return static_cast<Count>(plan_.tiles.size()); }

  const Instance& instance_;
  const RunPlan& plan_;
  Count tile_ = -1;
  int step_ = 0, part_ = 0;
  Count block_ = 0, begun_ = 0;  // the next block to ask for, and the tile's first
};

}  // namespace orrery::accelerator
