#include "orrery/formats/timeloop/architecture/clock.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

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
    double count = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failure != std::errc() || end != text.data() + text.size() || !(count > 0) || !std::isfinite(count))
      return std::nullopt;
    return count * of_it;
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
