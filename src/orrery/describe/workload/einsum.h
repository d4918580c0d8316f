// What runs: one extended einsum, the unit of work of the `nest` engine.
//
// An einsum is a perfect loop nest over `dimensions` whose body multiplies one element of each
// read-only dataspace and adds the product to one element of each read-write dataspace. An element's
// coordinates ("ranks") are affine in the loop variables, as in Timeloop's `problem` (reference:
// Parashar et al., "Timeloop", ISPASS 2019, section V.A).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::workload {

struct Dimension {
  std::string name;
  base::Count bound = 1;  // iterations, >= 1
};

// coefficient * loop variable of `dimension` (an index into Einsum::dimensions).
struct Term {
  int dimension = 0;
  base::Count coefficient = 1;
};

// One coordinate of a dataspace: the sum of its terms. Extent over a tile: 1 + sum c * (extent - 1).
struct Rank {
  std::vector<Term> terms;
};

struct Dataspace {
  std::string name;
  std::vector<Rank> ranks;
  bool read_write = false;  // an output: read back, added to, written
  base::Count bits = 0;     // of each value, wherever it is; 0: those of the word of each storage
};

struct Einsum {
  std::string name;
  std::vector<Dimension> dimensions;
  std::vector<Dataspace> dataspaces;

  // Index of a dimension or dataspace by name, or -1.
  int dimension_index(std::string_view name) const;
  int dataspace_index(std::string_view name) const;

  // Multiply-accumulates: the product of the bounds. Throws base::OverflowError.
  base::Count operations() const;

  // Words of dataspace `s` when dimension d spans extents[d]: the product over ranks of
  // 1 + sum c * (extent - 1). Throws base::OverflowError.
  base::Count volume(int s, const std::vector<base::Count>& extents) const;

  // Whether any rank of dataspace `s` has a non-zero term in dimension `d`.
  bool relevant(int s, int d) const;
};

// The matmul of the transformer layers, in the naming of Timeloop-Experiments:
// Outputs[D][L] += Weights[E][D] * Inputs[E][L]; M = D, K = E, N = L.
Einsum matmul(std::string name, base::Count d, base::Count e, base::Count l);

// A normalisation over columns of E elements, L columns, D sweeps over each (softmax 2, layernorm 3):
// Outputs[E][L] updated from Inputs[E][L] with a fake Weights[D].
Einsum normalisation(std::string name, base::Count l, base::Count e, base::Count d);

}  // namespace orrery::workload
