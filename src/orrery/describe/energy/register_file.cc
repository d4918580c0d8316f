#include "orrery/describe/energy/register_file.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

namespace orrery::energy {
namespace {

constexpr double kMostWords = 1LL << 40, kUsual = 1 << 20;

std::optional<double> positive(const Query& query, std::string_view name) {
  const Value* value = find(query.attributes, name);
  const auto held = value != nullptr ? number(*value) : std::nullopt;
  return held && *held >= 1 && *held <= kMostWords && *held == std::floor(*held) ? held : std::nullopt;
}

bool among(std::string_view one, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_fifo(const Query& query) {
  return query.class_name == "FIFO" || query.class_name == "fifo";
}

// Whether an argument such as `data_delta` says that nothing changes.
bool stays(const Query& query, std::string_view argument) {
  const Value* value = find(query.arguments, argument);
  const auto delta = value != nullptr ? number(*value) : std::nullopt;
  return delta && *delta == 0;
}

}  // namespace

bool is_small_storage(const Query& query) {
  constexpr double kMostDepth = 128, kMostWidth = 32;
  if (query.class_name != "storage") return false;
  const auto depth = positive(query, "depth"), width = positive(query, "width");
  return depth && width && *depth <= kMostDepth && *width <= kMostWidth;
}

std::optional<double> RegisterFile::accuracy(const Query& query) const {
  const bool known = query.class_name == "regfile" || is_fifo(query) || is_small_storage(query);
  return known ? std::optional(70.0) : std::nullopt;
}

Answer RegisterFile::estimate(const Query& query) const {
  const bool fifo = is_fifo(query);
  const auto depth = positive(query, "depth");
  auto width = positive(query, "width");
  if (fifo && !width) width = positive(query, "datawidth");
  if (!depth || !width)
    return Refusal{fmt::format("needs `{}`, a whole number from 1 to {:.0f}", depth ? "width" : "depth", kMostWords)};
  const bool access =
      among(query.action, {"read", "write", "update", "access"}) || (fifo && among(query.action, {"push", "pop"}));
  const bool leak = query.action == "leak" || query.action == "idle";
  if (!access && !leak && !query.wants_area())
    return Refusal{fmt::format("has no action `{}`; a {} has {}, leak", query.action, fifo ? "FIFO" : "register file",
                               fifo ? "push, pop" : "read, write, update")};

  const auto part = [&](const Library& library, std::string_view class_name, double bits, std::string_view action) {
    Attributes attributes;
    for (const char* name : {"technology", "global_cycle_seconds", "voltage"})
      if (const Value* value = find(query.attributes, name)) attributes.emplace(name, *value);
    attributes.emplace("width", static_cast<base::Count>(bits));
    return library.estimate(
        {class_name, attributes, query.wants_area() ? std::string_view() : action, query.arguments});
  };
  const double address = std::max(1.0, std::ceil(std::log2(*depth)));
  const std::string_view of_registers = among(query.action, {"push", "access"}) ? "write"
                                        : query.action == "pop"                 ? "read"
                                                                                : query.action;
  const Answer word = part(*registers_, "register", *width, of_registers);
  if (std::holds_alternative<Refusal>(word)) return word;
  const Answer compare = part(*comparators_, "comparator", address, leak ? "leak" : "compare");
  if (std::holds_alternative<Refusal>(compare)) return compare;

  Figure figure = std::get<Figure>(word);
  const Figure& one = std::get<Figure>(compare);
  const double rows = !access ? *depth : stays(query, "data_delta") ? 0 : 1;
  const double looks = access && stays(query, "address_delta") ? 0 : fifo ? 1 : *depth;
  figure.value = rows * figure.value + looks * one.value;
  figure.accuracy_percent = 70;
  figure.expected_error_percent.reset();
  figure.basis = Basis::kModelled;
  figure.estimator = name();
  figure.source = fmt::format("{:.0f} x [{}], {:.0f} x [{}]", rows, figure.source, looks, one.source);
  if (query.class_name == "storage") figure.source += "; a storage of at most 128 words of 32 bit, taken as registers";
  figure.beyond.clear();  // rows of many registers are what this is
  if (*depth > kUsual || *width > kUsual)
    figure.beyond.push_back(
        fmt::format("{:.0f} words of {:.0f} bit; register files have up to {:.0f}", *depth, *width, kUsual));
  return figure;
}

}  // namespace orrery::energy
