#include "orrery/formats/timeloop/expressions/unit_mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "orrery/base/text/text.h"

namespace orrery::formats::timeloop {
namespace {

struct Prefix {
  std::string_view letters;
  int power;
  bool binary_only;
};

constexpr std::array kPrefixes = {
    Prefix{"Ki", 1, true}, Prefix{"Mi", 2, true}, Prefix{"Gi", 3, true}, Prefix{"Ti", 4, true}, Prefix{"k", 1, false},
    Prefix{"K", 1, false}, Prefix{"M", 2, false}, Prefix{"G", 3, false}, Prefix{"T", 4, false}, Prefix{"", 0, false},
};

// What may follow a prefix. Storage units have both a decimal and a binary reading.
constexpr std::array<std::string_view, 14> kUnits = {"B",     "byte", "bytes",   "b", "bit",  "bits",   "word",
                                                     "words", "W",    "entries", "",  "rows", "values", "bank"};
constexpr std::array<std::string_view, 12> kOthers = {"ns",  "us",  "ms", "s",  "Hz", "kHz",
                                                      "MHz", "GHz", "pJ", "nJ", "nm", "um"};

std::string counted(std::string_view what) {
  if (what.find("bandwidth") != std::string_view::npos) return "words per cycle, for one instance";
  if (what.find("width") != std::string_view::npos || what.find("bits") != std::string_view::npos) return "bits";
  if (what.find("mesh") != std::string_view::npos || what == "instances") return "instances";
  if (what == "entries") return "words";
  if (what == "depth") return "rows of `width` bits";
  if (what.find("seconds") != std::string_view::npos) return "seconds";
  if (what.find("latency") != std::string_view::npos) return "cycles";
  return "a plain number";
}

bool is_bytes(std::string_view unit) {
  return unit == "B" || unit == "byte" || unit == "bytes";
}

bool is_bits(std::string_view unit) {
  return unit == "b" || unit == "bit" || unit == "bits";
}

}  // namespace

std::optional<UnitMistake> unit_mistake(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  unit = base::trimmed(unit, " ");
  if (unit.empty()) return std::nullopt;

  std::string_view per;
  if (const auto slash = unit.find('/'); slash != std::string_view::npos) {
    per = unit.substr(slash);
    unit = unit.substr(0, slash);
  }
  if (unit.empty()) return std::nullopt;
  if (!per.empty() && per != "/s" && per != "/cycle" && per != "/cc" && per != "/sec" && per != "/clk") {
    return std::nullopt;
  }

  UnitMistake mistake;
  mistake.hint = fmt::format("write a plain number: `{}` counts {}", what, counted(what));
  constexpr std::array<std::pair<std::string_view, double>, 4> kTimes = {
      {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  for (const auto& [name, seconds] : kTimes)
    if (unit == name && per.empty() && what.find("seconds") != std::string_view::npos) {
      mistake.readings.push_back(fmt::format("`{}` reads as {:.15g} seconds", text, number * seconds));
      return mistake;
    }
  if (std::find(kOthers.begin(), kOthers.end(), unit) != kOthers.end()) {
    mistake.readings.push_back(fmt::format("`{}{}` is a quantity of another kind", unit, per));
    return mistake;
  }
  for (const Prefix& prefix : kPrefixes) {
    if (unit.substr(0, prefix.letters.size()) != prefix.letters) continue;
    const std::string_view rest = unit.substr(prefix.letters.size());
    if (rest.empty() && prefix.letters.empty()) continue;
    if (std::find(kUnits.begin(), kUnits.end(), rest) == kUnits.end()) continue;
    const std::string_view noun = is_bytes(rest) ? "bytes" : is_bits(rest) ? "bits" : rest.empty() ? "" : rest;
    const auto reading = [&](double factor, std::string_view name) {
      const double value = number * factor;
      std::string line = factor == 1
                             ? fmt::format("`{}` reads as {:.15g} {}", text, value, noun)
                             : fmt::format("{}: {:.15g} x {:.15g} = {:.15g} {}", name, number, factor, value, noun);
      if (is_bytes(rest)) line += fmt::format(" = {:.15g} bits", value * 8);
      if (is_bits(rest) && std::fmod(value, 8) == 0) line += fmt::format(" = {:.15g} bytes", value / 8);
      if (!per.empty()) line += fmt::format(" per {}", per.substr(1));
      while (line.back() == ' ') line.pop_back();
      mistake.readings.push_back(std::move(line));
    };
    if (prefix.power == 0) {
      reading(1, "");
      if (is_bits(rest))
        mistake.readings.push_back(fmt::format("{0:.15g} bytes would be {1:.15g} bits", number, number * 8));
    } else {
      if (!prefix.binary_only) reading(std::pow(1000.0, prefix.power), "decimal");
      reading(std::pow(1024.0, prefix.power), "binary");
    }
    if (per == "/s" || per == "/sec") {
      mistake.readings.push_back("per second becomes per cycle by multiplying with global_cycle_seconds");
    }
    return mistake;
  }
  return std::nullopt;
}

}  // namespace orrery::formats::timeloop
