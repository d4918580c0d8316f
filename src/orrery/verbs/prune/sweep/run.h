// `orrery sparse sweep`: every combination of predictors, their settings, packings and arrays on one attention, and
// which of them are worth their error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/masks/packing/packing.h"
#include "orrery/engines/masks/prediction/predictor.h"
#include "orrery/inputs/masks/sparse_arrays.h"

namespace orrery::verbs {

struct SweepPoint {
  std::string predictor, packing;
  // What the predictor looks at.
  std::optional<int> bits;
  std::optional<double> threshold, keep;
  masks::PackArray array;
  double density = 0;
  std::optional<double> error;  // of attention's output, relative, mean over heads; with values only
  masks::PackedScheme packed;
  bool pareto = false;  // fits, and no other that fits is as good in error, density and utilisation and better in one
};

struct SparseSweepRequest {
  SparseArrayFiles files;
  std::vector<masks::PredictorKind> predictors;
  std::vector<double> thresholds, keeps;
  std::vector<int> bits;
  std::vector<std::string> packings;
  std::vector<masks::PackArray> arrays;
  masks::PackEffort effort;
  base::Limits limits;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

struct SparseSweep {
  std::vector<SweepPoint> points;  // in the order of the request: predictors, then settings, arrays, packings
  std::size_t all = 0;             // how many there would be
  bool interrupted = false, out_of_time = false;
  std::vector<base::Input> inputs;
};

// The predictors by their names, as the command line has them.
const std::vector<std::pair<std::string, masks::PredictorKind>>& predictor_names();

// Throws InputError: those of reading arrays. What is done when the budget ends is kept.
SparseSweep sweep_sparse(const SparseSweepRequest& request);

// Marks the points that no other dominates.
void mark_pareto(std::vector<SweepPoint>& points);

// A line for each point, with a header.
std::string sweep_csv(const SparseSweep& sweep);

}  // namespace orrery::verbs
