#include "orrery/formats/timeloop/architecture/clock.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "orrery/base/text/text.h"

namespace orrery::formats::timeloop {
namespace {

// Seconds of `5ns`; nothing for other texts.
std::optional<double> seconds_of(std::string_view text) {
  constexpr auto kUnits =
      std::to_array<std::pair<std::string_view, double>>({{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}});
  for (const auto& [unit, of_it] : kUnits) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    while (text.ends_with(' ')) text.remove_suffix(1);
    const std::optional<double> count = base::parse_finite(text);
    return count && *count > 0 ? std::optional(*count * of_it) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Clock> clock_of_latency(const AttributeFrame& frame) {
  for (const AttributeFrame* at = &frame; at != nullptr; at = at->outer) {
    const yaml::Node* latency = at->outer == nullptr        ? at->scope.node_of("latency")
                                : at->attributes != nullptr ? at->attributes->find("latency")
                                                            : nullptr;
    if (latency == nullptr || !latency->is_scalar()) continue;
    if (const auto seconds = seconds_of(latency->scalar)) return Clock{*seconds, latency};
  }
  return std::nullopt;
}

}  // namespace orrery::formats::timeloop
