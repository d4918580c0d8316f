// A unit is known or the text is refused: a misread prefix would be wrong by a factor of a thousand without a trace.
// Whole units take precedence over prefixes, so that "5 MACs" are five and not five million of something. A power of
// ten is applied as text ("2.4" and "e12" are one decimal number), so that a unit gives the very double that plain
// digits give.
#include "orrery/formats/amped/unit_value.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "orrery/base/text/text.h"

namespace orrery::formats::amped {
namespace {

struct Unit {
  std::string_view name;
  Dimension dimension;
};
constexpr std::array kUnits = {
    Unit{"b", Dimension::kBits},           Unit{"bit", Dimension::kBits},      Unit{"bits", Dimension::kBits},
    Unit{"bps", Dimension::kBits},         Unit{"B", Dimension::kBytes},       Unit{"byte", Dimension::kBytes},
    Unit{"bytes", Dimension::kBytes},      Unit{"Bytes", Dimension::kBytes},   Unit{"Bps", Dimension::kBytes},
    Unit{"s", Dimension::kSeconds},        Unit{"sec", Dimension::kSeconds},   Unit{"second", Dimension::kSeconds},
    Unit{"seconds", Dimension::kSeconds},  Unit{"Hz", Dimension::kHertz},      Unit{"FLOP", Dimension::kCount},
    Unit{"FLOPs", Dimension::kCount},      Unit{"FLOPS", Dimension::kCount},   Unit{"OP", Dimension::kCount},
    Unit{"OPs", Dimension::kCount},        Unit{"OPS", Dimension::kCount},     Unit{"MAC", Dimension::kCount},
    Unit{"MACs", Dimension::kCount},       Unit{"token", Dimension::kCount},   Unit{"tokens", Dimension::kCount},
    Unit{"sample", Dimension::kCount},     Unit{"samples", Dimension::kCount}, Unit{"sequences", Dimension::kCount},
    Unit{"parameters", Dimension::kCount}, Unit{"layers", Dimension::kCount},  Unit{"heads", Dimension::kCount},
    Unit{"cores", Dimension::kCount},      Unit{"nodes", Dimension::kCount},   Unit{"GPUs", Dimension::kCount},
    Unit{"units", Dimension::kCount},
};
constexpr std::array<std::string_view, 6> kPer = {"s", "sec", "second", "cycle", "core", "layer"};

struct Prefix {
  std::string_view name;
  int exponent;  // of ten, or of two
  bool binary = false;
};
// The longer first: "Mi" is no mega.
constexpr std::array kPrefixes = {
    Prefix{"Ki", 10, true}, Prefix{"Mi", 20, true}, Prefix{"Gi", 30, true}, Prefix{"Ti", 40, true}, Prefix{"p", -12},
    Prefix{"n", -9},        Prefix{"u", -6},        Prefix{"\xC2\xB5", -6}, Prefix{"\xCE\xBC", -6}, Prefix{"m", -3},
    Prefix{"k", 3},         Prefix{"K", 3},         Prefix{"M", 6},         Prefix{"G", 9},         Prefix{"T", 12},
    Prefix{"P", 15},        Prefix{"E", 18},
};

const Unit* unit_of(std::string_view name) {
  for (const Unit& unit : kUnits)
    if (unit.name == name) return &unit;
  return nullptr;
}

// The number with ten's exponent moved, by its text.
std::optional<double> scaled(std::string_view digits, int exponent) {
  const std::size_t e = digits.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view power = digits.substr(e + 1);
    if (!power.empty() && power[0] == '+') power.remove_prefix(1);
    const std::optional<int> own = base::parse_number<int>(power, -1000, 1000);
    if (!own) return std::nullopt;
    exponent += *own;
  }
  return base::parse_finite(fmt::format("{}e{}", digits.substr(0, e), exponent));
}

// How much of `text` is a decimal number.
std::size_t number_length(std::string_view text) {
  const auto digits_from = [&](std::size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at;
  };
  const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
  std::size_t at = digits_from(sign);
  std::size_t count = at - sign;
  if (at < text.size() && text[at] == '.') {
    const std::size_t end = digits_from(at + 1);
    count += end - at - 1;
    at = end;
  }
  if (count == 0) return 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t power = at + 1;
    if (power < text.size() && (text[power] == '+' || text[power] == '-')) ++power;
    const std::size_t end = digits_from(power);
    if (end > power) at = end;
  }
  return at;
}

}  // namespace

std::optional<UnitValue> parse_unit_value(std::string_view text, std::string* why) {
  const auto refuse = [&](std::string reason) -> std::optional<UnitValue> {
    if (why != nullptr) *why = std::move(reason);
    return std::nullopt;
  };
  text = base::trimmed(text, " \t");
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const std::size_t length = number_length(text);
  if (length == 0) return refuse("it does not begin with a number");
  const std::string_view digits = text.substr(0, length);
  std::string_view unit = base::trimmed(text.substr(length), " \t");
  const std::string whole(unit);

  if (const std::size_t slash = unit.find('/'); slash != std::string_view::npos) {
    const std::string_view per = base::trimmed(unit.substr(slash + 1), " \t");
    bool known = false;
    for (const std::string_view name : kPer) known |= name == per;
    if (!known) return refuse(fmt::format("`{}` is not a known unit", whole.substr(0, 40)));
    unit = base::trimmed(unit.substr(0, slash), " \t");
  }
  const auto of = [&](std::optional<double> number, Dimension dimension) -> std::optional<UnitValue> {
    if (!number || !std::isfinite(*number)) return refuse("the number is too large");
    return UnitValue{*number, dimension};
  };
  if (unit.empty()) return of(base::parse_finite(digits), Dimension::kNone);
  if (const Unit* known = unit_of(unit)) return of(base::parse_finite(digits), known->dimension);
  for (const Prefix& prefix : kPrefixes) {
    if (unit.rfind(prefix.name, 0) != 0) continue;
    const std::string_view rest = base::trimmed(unit.substr(prefix.name.size()), " \t");
    const Unit* known = unit_of(rest);
    if (!rest.empty() && known == nullptr) continue;
    std::optional<double> number = prefix.binary ? base::parse_finite(digits) : scaled(digits, prefix.exponent);
    if (number && prefix.binary) number = std::ldexp(*number, prefix.exponent);
    return of(number, known != nullptr ? known->dimension : Dimension::kNone);
  }
  return refuse(fmt::format("`{}` is not a known unit", whole.substr(0, 40)));
}

}  // namespace orrery::formats::amped
