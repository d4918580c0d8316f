// Errors of predictions against measurements, in short; and what a measured row is good for.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::verbs {

enum class Use {
  kHeldOut,     // no constant has seen it
  kFitted,      // constants were fitted on it: never counts as validation
  kUnverified,  // the figure is not confirmed: shown, never counted
};
inline constexpr std::array<std::string_view, 3> kUses = {"held-out", "fitted", "unverified"};
inline std::string_view name(Use use) {
  return kUses[static_cast<std::size_t>(use)];
}

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
