#include "orrery/energy/register_file.h"

#include <cmath>

#include <fmt/format.h>

namespace orrery::energy {
namespace {

constexpr double kMostWords = 1 << 20;

std::optional<double> positive(const Query& query, std::string_view name) {
  const Value* value = find(query.attributes, name);
  const auto held = value != nullptr ? number(*value) : std::nullopt;
  return held && *held >= 1 && *held <= kMostWords && *held == std::floor(*held) ? held : std::nullopt;
}

}  // namespace

std::optional<double> RegisterFile::accuracy(const Query& query) const {
  return query.class_name == "regfile" ? std::optional(70.0) : std::nullopt;
}

Answer RegisterFile::estimate(const Query& query) const {
  const auto depth = positive(query, "depth"), width = positive(query, "width");
  if (!depth || !width)
    return Refusal{fmt::format("needs `{}`, a whole number from 1 to {}", depth ? "width" : "depth", kMostWords)};
  const bool access = query.action == "read" || query.action == "write" || query.action == "update";
  const bool leak = query.action == "leak" || query.action == "idle";
  if (!access && !leak && !query.wants_area())
    return Refusal{fmt::format("has no action `{}`; a register file has read, write, update and leak", query.action)};

  const auto part = [&](const Library& library, std::string_view class_name, double bits, std::string_view action) {
    Attributes attributes;
    for (const char* name : {"technology", "global_cycle_seconds", "voltage"})
      if (const Value* value = find(query.attributes, name)) attributes.emplace(name, *value);
    attributes.emplace("width", static_cast<base::Count>(bits));
    return library.estimate(
        {class_name, attributes, query.wants_area() ? std::string_view() : action, query.arguments});
  };
  const double address = std::max(1.0, std::ceil(std::log2(*depth)));
  const Answer word = part(*registers_, "register", *width, query.action);
  if (std::holds_alternative<Refusal>(word)) return word;
  const Answer compare = part(*comparators_, "comparator", address, leak ? "leak" : "compare");
  if (std::holds_alternative<Refusal>(compare)) return compare;

  Figure figure = std::get<Figure>(word);
  const Figure& one = std::get<Figure>(compare);
  const double rows = access ? 1 : *depth;
  figure.value = rows * figure.value + *depth * one.value;
  figure.accuracy_percent = 70;
  figure.expected_error_percent.reset();
  figure.basis = Basis::kModelled;
  figure.estimator = name();
  figure.source = fmt::format("{:.0f} x [{}], {:.0f} x [{}]", rows, figure.source, *depth, one.source);
  figure.beyond.clear();  // rows of many registers are what this is
  return figure;
}

}  // namespace orrery::energy
