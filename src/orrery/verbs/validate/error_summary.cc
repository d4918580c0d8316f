#include "orrery/verbs/validate/error_summary.h"

#include <algorithm>
#include <cmath>

namespace orrery::verbs {

ErrorSummary summarise(std::vector<double> errors) {
  ErrorSummary summary;
  summary.points = errors.size();
  if (errors.empty()) return summary;
  for (double& error : errors) {
    summary.bias += error;
    error = std::abs(error);
    summary.mean_absolute += error;
  }
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  summary.bias /= count;
  summary.mean_absolute /= count;
  summary.median_absolute = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  summary.worst = errors.back();
  return summary;
}

}  // namespace orrery::verbs
