// Lines of holds inside the exchange level: every order of holds, under every choice of spreads, with the figures that
// price it.
//
// The words that cross into a hold are its tensor's size times a factor for spreads, which a line fixes, times the
// temporal loops above it that the tensor has no rank of. So a line's cost is linear in these products, one a hold.
#pragma once

#include <vector>

#include "orrery/engines/fused/search/cost.h"
#include "orrery/engines/fused/search/einsum_shape.h"

namespace orrery::fused {

// Where a tensor comes from when nothing inside holds it.
enum Outside { kOutermost = 0, kExchangeLevel = 1 };

struct NestLine {
  struct Hold {
    int access = 0;
    int storage = 0;
    double bits = 0;                           // of a word
    std::array<double, kMostClasses> parts{};  // by class: spreads above
    // For each time that its tensor's other loops come round, by where its keeper is (the same if that is inside).
    std::array<Cost, 2> cost;
    std::vector<double> inside;  // time by port of the storages inside
  };
  struct Free {
    int cls = 0;
    int block = 0;  // its loops stand directly above hold `block`, or innermost
  };

  std::vector<Hold> holds;
  std::size_t spread = 0;  // in EinsumShape::spreads
  Tile parts{};            // by class: all spreads
  // A loop stands where it cannot move further in (past a hold that it does not change) or must not move further out:
  // below a hold of a tensor that has no rank of it, above one that has. Where a class may stand in several blocks, all
  // but the innermost are free; that one takes the rest.
  std::vector<Free> free;
  std::array<int, kMostClasses> rest{};
  // What does not depend on the loops, by access and keeper: words that the unit moves, less the zeros of outputs.
  std::vector<std::array<Cost, 2>> fixed;
  std::vector<double> fixed_inside;  // by port
  double unit_latency = 0;
};

// `port_place`: of storage s, read and written, among the ports inside; -1: it takes no time.
// Fewer where `hope` wants no more of them, or has ended.
std::vector<NestLine> nest_lines(const EinsumShape& shape, Counted counted, Hope& hope);
int ports_inside(const EinsumShape& shape);

// Adds the cost of `words` that `instances` of a storage each read and write.
struct Account {
  const EinsumShape& shape;
  Counted counted;
  void add(Cost& cost, std::vector<double>* inside, int storage, int access, double read, double written,
           double instances) const;
};

}  // namespace orrery::fused
