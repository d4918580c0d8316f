// What `sparse break-even` is asked.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
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

}  // namespace orrery::verbs
