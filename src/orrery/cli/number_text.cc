#include "orrery/cli/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <system_error>

namespace orrery::verbs {

namespace {

// A number of `units`, each a thousand times the one before; without one, of the one at `usual`.
double scaled(const std::string& text, std::initializer_list<const char*> units, int usual) {
  const auto [value, rest] = decimal(text);
  const std::string unit = rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
  const bool exponent = text.find_first_of("eE") < text.size() - rest.size();  // of `25e9` the unit is the least
  int power = !unit.empty() ? -1 : exponent ? 0 : usual, at = 0;
  for (const char* known : units) {
    if (unit == known) power = at;
    ++at;
  }
  const double amount = power < 0 ? 0 : value * std::pow(1e3, power);
  return amount > 0 && std::isfinite(amount) ? amount : 0;
}

}  // namespace

std::pair<double, std::string> decimal(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return {std::numeric_limits<double>::quiet_NaN(), text};
  return {value, std::string(end, text.data() + text.size())};
}

std::size_t amount_of_memory(const std::string& text) {
  constexpr double kLeast = 1 << 20, kMost = 1e15;
  const auto [value, rest] = decimal(text);
  const std::string unit = rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::string_view steps = "KMGT";
    const std::size_t power = steps.find(unit[0] == 'k' ? 'K' : unit[0]);
    const std::string tail = unit.substr(1);
    if (power == std::string_view::npos || (!tail.empty() && tail != "B" && tail != "iB")) return 0;
    factor = std::pow(tail == "B" ? 1000.0 : 1024.0, static_cast<double>(power) + 1);
  }
  const double amount = value * factor;
  return amount >= kLeast && amount <= kMost ? static_cast<std::size_t>(amount) : 0;
}

double amount_of_tokens(const std::string& text) {
  auto [value, unit] = decimal(text);
  constexpr std::string_view kLetters = "KMBT";
  if (unit.size() == 1 && kLetters.find(unit[0]) != std::string_view::npos) {
    value *= std::pow(1e3, 1 + static_cast<int>(kLetters.find(unit[0])));
  } else if (!unit.empty()) {
    value = 0;
  }
  return value >= 1 && value <= 1e30 ? value : 0;
}

double frequency(const std::string& text) {
  return scaled(text, {"Hz", "kHz", "MHz", "GHz"}, 3);
}

double bandwidth(const std::string& text) {
  if (text == "unlimited") return std::numeric_limits<double>::infinity();
  return scaled(text, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"}, 3);
}

}  // namespace orrery::verbs
