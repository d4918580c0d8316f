// How long a fused kernel takes in a layout that was not measured, learned from those that were.
//
// What a configuration does to each tensor (kernels::Access: taken where it lies, transposed in blocks, gathered) and
// how its vectors run is its kind. The time is a sum over tensors of what that access costs, plus a constant of how
// vectors run:
//
//   t = c(vectors) + sum over tensors of w(tensor, access)
//
// Weights start at bytes over the memory's rate, times 1, 1.5 or 8 by access, and are fitted by least squares of
// relative errors, drawn to where they started (ridge) so far as measurements say nothing. Of a kind that was measured
// itself, the fastest measurement counts. The stated error is what nine of ten recent measurements stayed within:
// lower(kind) = predicted / (1 + error). It is an estimate, no bound.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/runtime/tuning/fused_kernels.h"

namespace orrery::tuning {

// What the model tells apart of a configuration; a byte for each thing.
std::string kind_of(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run);

class AccessModel {
 public:
  AccessModel(const FusedKernel& kernel, const FusedRun& run, double bytes_per_second);

  double predict(const std::string& kind) const;  // seconds
  double lower(const std::string& kind) const;
  void learn(const std::string& kind, double seconds);
  double error() const;  // relative, by which a kind that was not measured may be faster than predicted

 private:
  using Row = std::vector<std::size_t>;  // the features that a kind has
  Row row_of(const std::string& kind) const;
  void fit();

  double per_access_;                                             // seconds of a tensor taken where it lies
  mutable std::map<std::pair<int, char>, std::size_t> features_;  // (place in the kind, what stands there)
  mutable std::vector<double> start_, weights_;
  struct Known {
    std::string kind;
    double seconds;
  };
  std::vector<Known> known_;
  std::map<std::string, double> fastest_;  // by kind
  std::vector<double> missed_;             // predicted / measured - 1 of kinds that were new
};

}  // namespace orrery::tuning
