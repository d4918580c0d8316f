// An accelerator of equal systolic cores: how many cycles an operator takes on a share of them.
//
// A product is spread over `lanes` x `stages` cores: rows of the result over lanes of `width`, columns over stages of
// `height`. The formulas are DFModel's (arXiv 2412.16432); docs/model/dataflow.md, "Compute".
#pragma once

#include <vector>

#include "orrery/describe/machine/operator_model.h"

namespace orrery::machine {

struct CoreShare {
  base::Count cores = 0;  // lanes * stages; 0: not possible
  base::Count lanes = 0, stages = 0;
  double cycles = 0;
};

// What a list of shares must contain: least cycles for the cores alone, or every useful pair of lanes and stages (where
// the lanes also determine the memory needed, more cores with fewer lanes can be wanted).
enum class Shares { kFewestCores, kEveryPair };

// Equal cores, each a grid of multiply-accumulate units.
struct CoreArray {
  base::Count cores = 0, width = 0, height = 0;  // all at least 1
  double frequency_ghz = 0;

  // A multiply-accumulate is two FLOP.
  double gflops() const { return 2.0 * width * height * cores * frequency_ghz; }
};

class SystolicCores final : public OperatorModel {
 public:
  explicit SystolicCores(const CoreArray& array, double memory_bytes_per_s = 0)
      : array_(array), memory_bytes_per_s_(memory_bytes_per_s) {}

  // Ways to run it on at most all cores, by rising cores and falling cycles (kEveryPair: by rising cores, then lanes).
  // Cost: about the square root of each size in shares, never the number of cores squared.
  std::vector<CoreShare> product(base::Count m, base::Count n, base::Count k, Shares shares) const;
  std::vector<CoreShare> elementwise(base::Count m, base::Count n) const;
  // A chain of `effective` stages as one (FFT-like): ceil(k / (stages * effective)) * n cycles.
  std::vector<CoreShare> chain(base::Count k, base::Count n, base::Count effective) const;

  // The fastest, of the fewest cores, with the whole chip available; without listing the others.
  CoreShare fastest_product(base::Count m, base::Count n, base::Count k) const;

  // The whole chip on one operator; the products of a batch are spread as the rows of one.
  double matrix_product_seconds(const MatrixProduct& product) const override;
  double memory_bound_seconds(double bytes) const override;
  double issue_seconds() const override { return 0; }
  double elementwise_seconds(double elements, Precision precision) const override;

 private:
  CoreArray array_;
  double memory_bytes_per_s_;
};

}  // namespace orrery::machine
