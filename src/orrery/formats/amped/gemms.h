// The matrix products of one layer, as AMPeD hands them to DeepFlow.
#pragma once

#include <string>
#include <vector>

#include "orrery/engines/amped/equations.h"

namespace orrery::formats::amped {

namespace equations = ::orrery::amped;

// A product of (M x K) and (K x N), `count` times side by side. Sizes are of one replica's whole minibatch, shared over
// the pipeline's stages; fractions are kept.
struct Gemm {
  std::string name;    // "X.W=KQV"
  std::string inputs;  // names of what it multiplies
  std::string output;
  double m = 0, k = 0, n = 0, count = 1;

  double macs() const { return m * k * n * count; }
};

// Six, in the order of the layer. With the defect `flat_gemms` attention's products of all heads are one, as
// AMPeD writes them; else one of each head and sequence.
std::vector<Gemm> gemms(const equations::Quantities& quantities, const equations::Defects& defects);

}  // namespace orrery::formats::amped
