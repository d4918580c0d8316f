#include "orrery/verbs/validate/error_summary_text.h"

#include <fmt/format.h>

namespace orrery::verbs {

std::string signed_percent(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

std::string plain_percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

Record<ErrorSummary> error_summary() {
  const auto percent = [](double ErrorSummary::*share) {
    return [share](const ErrorSummary& s) { return 100 * (s.*share); };
  };
  return {
      {"points", "Number of points; where it is 0, so are the other figures.", &ErrorSummary::points},
      {"mean_absolute_percent", "Mean of the errors' magnitudes, in percent.", percent(&ErrorSummary::mean_absolute)},
      {"median_absolute_percent", "Median of the errors' magnitudes, in percent.",
       percent(&ErrorSummary::median_absolute)},
      {"bias_percent", "Mean of the errors with their signs, in percent.", percent(&ErrorSummary::bias)},
      {"worst_percent", "Largest magnitude of an error, in percent.", percent(&ErrorSummary::worst)}};
}

}  // namespace orrery::verbs
