// A mapping's loops and tiles, as the sparse model asks for them: which loop stands where, and how large a tile the
// loops up to one sweep.
//
// Loops of one iteration are left out: they change no tile. Order within a level: loops in space, X before Y, then
// loops in time; innermost first.
#pragma once

#include <vector>

#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/model/traffic.h"
#include "orrery/engines/nest/sparse/density.h"

namespace orrery::nest {

struct SparseLoop {
  int dimension = 0;
  base::Count iterations = 1;
  bool spatial = false;
};

using Extents = std::vector<base::Count>;  // per dimension

class SparseNest {
 public:
  // Borrows its arguments. `mapping` is perfect.
  SparseNest(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping);

  int levels() const { return static_cast<int>(loops_.size()); }
  int dataspaces() const { return static_cast<int>(einsum_.dataspaces.size()); }
  const workload::Einsum& einsum() const { return einsum_; }
  const std::vector<SparseLoop>& loops(int level) const { return loops_[static_cast<std::size_t>(level)]; }
  // What the loops up to and with `loop` of a level sweep.
  const Extents& swept(int level, int loop) const {
    return swept_[static_cast<std::size_t>(level)][static_cast<std::size_t>(loop)];
  }
  const Extents& tile(int level) const { return tile_[static_cast<std::size_t>(level)]; }  // all loops of a level
  const Extents& scalar() const { return scalar_; }

  bool keeps(int level, int s) const { return mapping_.levels[static_cast<std::size_t>(level)].keep >> s & 1; }
  int child(int level, int s) const;   // the next keeper inside, or -1
  int parent(int level, int s) const;  // the next keeper outside, or -1
  bool moves(int dimension, int s) const { return shape_.relevant[static_cast<std::size_t>(s)] >> dimension & 1; }

  // The tile of a tensor that a range of iterations touches; beyond the bounds there is nothing.
  Mold mold(int s, const Extents& extents) const;

 private:
  const workload::Einsum& einsum_;
  const Shape& shape_;
  const Mapping& mapping_;
  std::vector<std::vector<SparseLoop>> loops_;
  std::vector<std::vector<Extents>> swept_;
  std::vector<Extents> tile_;
  Extents scalar_;
};

}  // namespace orrery::nest
