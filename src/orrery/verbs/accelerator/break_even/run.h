// `orrery sparse break-even`: from which length and density on pruned attention is faster than dense attention here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::verbs {

using base::Count;

enum class SparseStructure {
  kElement,  // Sanger's prediction, single pairs
  kBlock16,
  kBlock32,
  kBlock64,  // the best blocks by their means, predicted
  kWindow,   // the nearest keys, without prediction
};
std::string name_of(SparseStructure structure);

struct BreakEvenRequest {
  Count batch = 1, heads = 12, size = 64;
  std::vector<Count> lengths = {128, 256, 512, 1024, 2048};
  std::vector<double> densities = {0.05, 0.12, 0.25, 0.5};
  std::vector<SparseStructure> structures = {SparseStructure::kElement, SparseStructure::kBlock16,
                                             SparseStructure::kBlock32, SparseStructure::kBlock64,
                                             SparseStructure::kWindow};
  kernels::Type type = kernels::Type::kF32;  // or kBf16
  std::string pytorch;                       // a Python that has it; empty: it is not measured
  Count turns = 5;
  base::Limits limits;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

// Milliseconds are medians over turns, the speedup the median of the turns' ratios.
struct BreakEvenPoint {
  std::string structure;
  Count tokens = 0;
  double wanted = 0, density = 0;                      // asked for, and kept
  double dense_ms = 0, predict_ms = 0, sparse_ms = 0;  // sparse_ms: prediction and pruned attention together
  double speedup = 0;
  std::optional<double> pytorch_ms, pytorch_speedup;

  bool pays() const { return speedup > 1 && pytorch_speedup.value_or(2) > 1; }
};

// Below which density a structure pays at a length, between the measured ones by interpolation.
struct BreakEvenLine {
  std::string structure;
  Count tokens = 0;
  std::optional<double> density;  // none of those measured pays: nothing; all do: the densest
  bool beyond = false;            // all do: it pays beyond `density` too, perhaps
};

struct BreakEven {
  std::vector<BreakEvenPoint> points;  // lengths, structures, densities
  std::vector<BreakEvenLine> lines;
  std::size_t all = 0;  // how many points there would be
  std::string isa, dtype, pytorch_version;
  Count batch = 0, heads = 0, size = 0, turns = 0;
  int threads = 0;
  bool interrupted = false, out_of_time = false;
};

// Throws InputError O1861 where PyTorch cannot be measured. What is done when the budget ends is kept.
BreakEven break_even(const BreakEvenRequest& request);

// The lines of points, which are in the order that BreakEven has them in.
std::vector<BreakEvenLine> lines_of(const std::vector<BreakEvenPoint>& points);

}  // namespace orrery::verbs
