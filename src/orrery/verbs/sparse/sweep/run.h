// `orrery sparse sweep`: every combination of predictors, their settings, packings and arrays on one attention, and
// which of them are worth their error.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/inputs/grids/grid.h"
#include "orrery/inputs/masks/sparse_arrays.h"

namespace orrery::verbs {

struct SweepPoint {
  std::string predictor, packing;
  // What the predictor is given; nothing of what it does not take.
  std::optional<int> bits;
  std::optional<double> threshold, keep;
  masks::PackArray array;
  double density = 0;
  std::optional<double> error;  // of attention's output, relative, mean over heads; with values only
  masks::PackedScheme packed;
  bool pareto = false;  // fits, and no other that fits is as good in error, density and utilisation and better in one
};

struct SparseSweepRequest : GridRequest {
  SparseArrayFiles files;
  std::vector<masks::PredictorKind> predictors;
  std::vector<double> thresholds, keeps;
  std::vector<int> bits;
  std::vector<std::string> packings;
  std::vector<masks::PackArray> arrays;
  masks::PackEffort effort;
};

// Points in the order of the request: predictors, then settings, arrays, packings.
using SparseSweep = GridAnswer<SweepPoint>;

// The predictors by their names, as the command line has them.
const std::vector<std::pair<std::string, masks::PredictorKind>>& predictor_names();

// Throws InputError: those of reading arrays. What is done when the budget ends is kept.
SparseSweep sweep_sparse(const SparseSweepRequest& request);

// Error, density and utilisation of one that fits, as costs.
base::Costs sweep_costs(const SweepPoint& point);

// A line for each point, with a header.
std::string sweep_csv(const SparseSweep& sweep);

}  // namespace orrery::verbs
