// Idea: the longest number at the front, then a prefix, then exactly the unit that the field has. Cost: one scan.
#include "orrery/formats/orrery/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "orrery/base/text/text.h"

namespace orrery::formats::orrery {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 13> kPrefixes = {{{"Ki", 1024.0},
                                                                            {"Mi", 1048576.0},
                                                                            {"Gi", 1073741824.0},
                                                                            {"Ti", 1099511627776.0},
                                                                            {"n", 1e-9},
                                                                            {"u", 1e-6},
                                                                            {"m", 1e-3},
                                                                            {"k", 1e3},
                                                                            {"M", 1e6},
                                                                            {"G", 1e9},
                                                                            {"T", 1e12},
                                                                            {"P", 1e15},
                                                                            {"", 1.0}}};

}  // namespace

std::string_view name(Unit unit) {
  constexpr std::array<std::string_view, 7> names = {"", "FLOP/s", "B", "B/s", "s", "W", "USD/h"};
  return names[static_cast<std::size_t>(unit)];
}

std::string_view example(Unit unit) {
  constexpr std::array<std::string_view, 7> examples = {"0.85",  "312 TFLOP/s", "80 GB",     "300 GB/s",
                                                        "20 us", "400 W",       "1.99 USD/h"};
  return examples[static_cast<std::size_t>(unit)];
}

std::optional<double> quantity(std::string_view text, Unit unit) {
  text = base::trimmed(text, " ");
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || !std::isfinite(value)) return std::nullopt;
  const std::string_view written = base::trimmed(text.substr(static_cast<std::size_t>(end - text.data())), " ");
  if (unit == Unit::kNone) return written.empty() ? std::optional(value) : std::nullopt;
  if (written.empty() && text.find_first_of("eE") != std::string_view::npos) return value;
  const auto scaled = [&](std::string_view base, double factor) -> std::optional<double> {
    if (!written.ends_with(base)) return std::nullopt;
    const std::string_view prefix = written.substr(0, written.size() - base.size());
    for (const auto& [letters, scale] : kPrefixes)
      if (prefix == letters && std::isfinite(value * scale * factor)) return value * scale * factor;
    return std::nullopt;
  };
  if (unit == Unit::kBytesPerSecond)
    if (const auto bits = scaled("bit/s", 0.125)) return bits;
  return scaled(name(unit), 1);
}

}  // namespace orrery::formats::orrery
