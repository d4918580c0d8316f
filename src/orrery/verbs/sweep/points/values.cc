#include "orrery/verbs/sweep/points/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace orrery::sweep {
namespace {

constexpr double kExact = 0x1p53;  // whole numbers up to here are doubles

base::Location part(const base::Location& where, std::size_t offset, std::size_t length) {
  base::Location out = where;
  out.column += static_cast<int>(offset);
  out.length = std::max(1, static_cast<int>(length));
  return out;
}

[[noreturn]] void refuse(const std::string& message, const base::Location& where, const std::string& note) {
  base::Diagnostics found;
  auto& error = found.error("O2046", message, where);
  if (!note.empty()) error.note(note);
  error.hint("write a list `8,16,32`, a range `1..8` or `0.1..0.5:0.1`, or powers `64Ki..1Mi:x2`");
  throw base::InputError(found.all());
}

// 1.5, 64Ki: without anything behind it.
bool number_of(const std::string& text, double& value) {
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-' || text[0] == '.'))
    return false;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return false;
  const std::string unit(end, text.data() + text.size());
  if (unit.empty()) return std::isfinite(value);
  int power = 0;
  for (const char* known : {"Ki", "Mi", "Gi", "Ti"}) {
    power += 10;
    if (unit == known) {
      value = std::ldexp(value, power);
      return true;
    }
  }
  return false;
}

std::string text_of(double value) {
  if (value == std::floor(value) && std::abs(value) < kExact) return fmt::format("{:.0f}", value);
  return fmt::format("{:.12g}", value);
}

struct Range {
  double first = 0, last = 0, step = 1;
  bool times = false;
};

// Nothing where the text is no range; throws where it is a wrong one.
bool range_of(const std::string& text, const base::Location& where, Range& range) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return false;
  if (!number_of(text.substr(0, dots), range.first)) return false;  // "../arch.yaml", "a..b"
  const std::size_t colon = std::min(text.find(':', dots), text.size());
  const std::string last = text.substr(dots + 2, colon - dots - 2);
  if (!number_of(last, range.last))
    refuse(last.empty() ? fmt::format("the range `{}` never ends", text)
                        : fmt::format("`{}` is not a number that ends a range", last),
           part(where, dots + 2, last.size()), "");
  if (colon < text.size()) {
    std::string step = text.substr(colon + 1);
    range.times = !step.empty() && step[0] == 'x';
    if (range.times) step.erase(0, 1);
    if (!number_of(step, range.step))
      refuse(fmt::format("`{}` is no step of a range", text.substr(colon + 1)),
             part(where, colon + 1, text.size() - colon - 1), "");
    const bool ends = range.times ? range.step > 1 && range.first > 0 : range.step > 0;
    if (!ends)
      refuse(fmt::format("the range `{}` never ends", text), part(where, colon + 1, text.size() - colon - 1),
             range.times ? fmt::format("{} times {} is never more than {}", text_of(range.first), text_of(range.step),
                                       text_of(range.last))
                         : fmt::format("steps of {} never come from {} to {}", text_of(range.step),
                                       text_of(range.first), text_of(range.last)));
  }
  if (range.first > range.last)
    refuse(fmt::format("the range `{}` is empty", text), where,
           fmt::format("{} is more than {}", text_of(range.first), text_of(range.last)));
  return true;
}

void append_range(const std::string& text, const base::Location& where, const Range& range,
                  std::vector<std::string>& out) {
  const double steps =
      range.times ? std::log(range.last / range.first) / std::log(range.step) : (range.last - range.first) / range.step;
  if (!(steps < static_cast<double>(kMostValues)))
    refuse(fmt::format("the range `{}` is too long", text), where,
           fmt::format("it has some {:.3g} values; a field takes at most {}", steps, kMostValues));
  // An end that is missed by rounding alone, a billionth of a step, belongs to the range.
  for (std::size_t i = 0; static_cast<double>(i) <= steps + 1e-9; ++i) {
    const double at = static_cast<double>(i);
    std::string value = text_of(range.times ? range.first * std::pow(range.step, at) : range.first + at * range.step);
    if (i > 0 && value == out.back())
      refuse(fmt::format("the steps of the range `{}` vanish", text), where,
             fmt::format("{} and a step more are both {}", value, value));
    out.push_back(std::move(value));
  }
}

}  // namespace

bool is_number(const std::string& text, double& number) {
  return number_of(text, number);
}

void append_values(const std::string& text, const base::Location& where, std::vector<std::string>& out) {
  Range range;
  double number = 0;
  if (range_of(text, where, range))
    append_range(text, where, range, out);
  else
    out.push_back(number_of(text, number) && text.back() == 'i' ? text_of(number) : text);
  if (out.size() > kMostValues)
    refuse("a field has too many values", where, fmt::format("it takes at most {}", kMostValues));
}

std::vector<std::string> values_of(const std::string& text, const base::Location& where) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, comma - at);
    if (one.empty()) refuse(fmt::format("`{}` has an empty value", text), part(where, at, 1), "");
    append_values(one, part(where, at, one.size()), out);
    at = comma + 1;
  }
  return out;
}

}  // namespace orrery::sweep
