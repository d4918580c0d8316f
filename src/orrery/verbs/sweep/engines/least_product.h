// The product of two sums from below, where of each pair of addends both are bounded, and so is their product.
//
// The EDP of a workload is (sum of energies) x (sum of cycles) over its layers. Of a layer e >= e0, c >= c0 and e c >=
// p are known, each from a search of its own; no mapping need reach two of them. By the means of two numbers
//
//   (sum e)(sum c) = min over t > 0 of ((t sum e + sum c / t) / 2)^2
//
// and for a given t every layer is on its own: e c = p with e = sqrt(p)/t, or at the end of its range. With u = log t
// the sum is convex, so that a search over u finds its least. All layers at once: O(layers x 100).
#pragma once

#include <vector>

namespace orrery::sweep {

struct BoundedPair {
  double times = 1;              // the layer occurs
  double first = 0, second = 0;  // no less than these
  double product = 0;            // of both, at least; at least first x second
};

// Never above what the bounds allow; below it by 1e-9 of it at most.
double least_product(const std::vector<BoundedPair>& pairs);

}  // namespace orrery::sweep
