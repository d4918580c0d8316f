#include "orrery/formats/substation/decimal_time.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::substation {
namespace {

// Above any operator of a layer; the sums of all operators stay far below what 64 bits hold.
constexpr base::Count kMost = 1'000'000'000'000'000'000;  // fs: a thousand seconds

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string no_number(std::string_view text) {
  std::string low = base::lower(text);
  if (!low.empty() && (low[0] == '-' || low[0] == '+')) low.erase(0, 1);
  if (low == "nan" || low == "inf" || low == "infinity") return "is not finite";
  return text.empty() ? "is missing" : "is not a number";
}

}  // namespace

DecimalTime decimal_time(std::string_view text, int digits_of_unit) {
  std::size_t at = 0;
  const bool minus = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++at;
  std::uint64_t digits = 0;
  int scale = digits_of_unit, seen = 0;
  bool point = false, next_half = false, full = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    ++seen;
    if (digits < 100'000'000'000'000'000) {  // 18 digits: what follows is far below a femtosecond of such a number
      digits = digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
      if (point) --scale;
    } else {
      if (!full) next_half = text[at] >= '5';
      full = true;
      if (!point) ++scale;
    }
  }
  if (seen == 0) return {0, no_number(text)};
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    int exponent = 0;
    const std::size_t first = at;
    for (; at < text.size() && is_digit(text[at]); ++at)
      exponent = exponent < 100'000 ? exponent * 10 + (text[at] - '0') : exponent;
    if (at == first) return {0, "is not a number"};
    scale += down ? -exponent : exponent;
  }
  if (at != text.size()) return {0, no_number(text)};
  if (minus && digits > 0) return {0, "is negative"};
  if (digits == 0) return {0, "is zero"};
  bool half = next_half;
  for (; scale < 0 && digits > 0; ++scale) {
    half = digits % 10 >= 5;
    digits /= 10;
  }
  if (scale >= 0 || digits > 0)
    for (; scale > 0; --scale) {
      if (digits > static_cast<std::uint64_t>(kMost)) return {0, "is more than a thousand seconds"};
      digits *= 10;
    }
  if (half) ++digits;
  if (digits > static_cast<std::uint64_t>(kMost)) return {0, "is more than a thousand seconds"};
  if (digits == 0) return {0, "is below half a femtosecond"};
  return {static_cast<base::Count>(digits), {}};
}

std::string decimal_text(base::Count femtoseconds, int digits_of_unit) {
  std::string digits = fmt::format("{}", femtoseconds);
  int exponent = static_cast<int>(digits.size()) - 1 - digits_of_unit;  // of the first digit
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  if (exponent < -4) {
    const std::string tail = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}e-{:02d}", digits[0], tail, -exponent);
  }
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace orrery::formats::substation
