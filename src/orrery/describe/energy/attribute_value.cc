#include "orrery/describe/energy/attribute_value.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

// Python's `repr` of a float: the shortest digits that read back to the same number; with an exponent where
// the decimal point would stand more than 16 places right or 4 places left of the first digit.
std::string python_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";

  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::scientific).ptr;
  const std::string_view shortest(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = shortest.find('e');
  std::string digits;
  for (const char c : shortest.substr(0, e))
    if (c != '.') digits += c;
  int exponent = 0;
  const std::string_view written = shortest.substr(e + 1);
  std::from_chars(written.data() + (written[0] == '+'), written.data() + written.size(), exponent);

  const std::string sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::optional<double> number_in(std::string_view text) {
  text = base::trimmed(text, " \t");
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return base::parse_finite(text);
}

struct AsText {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(base::Count value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return python_text(value); }
  std::string operator()(const std::string& value) const { return value; }
};

struct AsNumber {
  std::optional<double> operator()(std::monostate) const { return std::nullopt; }
  std::optional<double> operator()(bool value) const { return value ? 1 : 0; }
  std::optional<double> operator()(base::Count value) const { return static_cast<double>(value); }
  std::optional<double> operator()(double value) const {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }
  std::optional<double> operator()(const std::string& value) const { return number_in(value); }
};

}  // namespace

std::string text(const Value& value) {
  return std::visit(AsText{}, value);
}

std::optional<double> number(const Value& value) {
  return std::visit(AsNumber{}, value);
}

const Value* find(const Attributes& attributes, std::string_view name) {
  const auto at = attributes.find(name);
  return at == attributes.end() ? nullptr : &at->second;
}

}  // namespace orrery::energy
