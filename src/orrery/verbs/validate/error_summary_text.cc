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
  return {{"points", "How many; without any, the rest is 0.", &ErrorSummary::points},
          {"mean_absolute_percent", "Of the errors without their signs.", percent(&ErrorSummary::mean_absolute)},
          {"median_absolute_percent", "Of the errors without their signs.", percent(&ErrorSummary::median_absolute)},
          {"bias_percent", "Mean of the errors with their signs.", percent(&ErrorSummary::bias)},
          {"worst_percent", "The largest without its sign.", percent(&ErrorSummary::worst)}};
}

}  // namespace orrery::verbs
