// Errors of predictions against measurements, in short.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/inputs/systems/measured_rows.h"

namespace orrery::verbs {

// Relative errors, predicted / measured - 1, in short. All zero without points.
struct ErrorSummary {
  std::size_t points = 0;
  double mean_absolute = 0;
  double median_absolute = 0;
  double bias = 0;   // mean
  double worst = 0;  // the largest absolute one
};
ErrorSummary summarise(std::vector<double> errors);

}  // namespace orrery::verbs
