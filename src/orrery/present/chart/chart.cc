#include "orrery/present/chart/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace orrery::verbs {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<std::string> in_order(const Chart& chart, std::string ChartMark::*member) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const ChartMark& mark : chart.marks)
    if (seen.insert(mark.*member).second) out.push_back(mark.*member);
  return out;
}

struct Extent {
  double least = kInfinite, most = -kInfinite;
  void take(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    least = std::min(least, value), most = std::max(most, value);
  }
};

// The ends of stacked bars.
void take_bars(const Chart& chart, Extent& x) {
  x.take(0, false);
  std::vector<std::pair<std::string, double>> ends;
  for (const ChartMark& mark : chart.marks) {
    const auto found = std::find_if(ends.begin(), ends.end(), [&](const auto& end) { return end.first == mark.place; });
    if (chart.side_by_side || found == ends.end())
      ends.emplace_back(mark.place, mark.x);
    else
      found->second += mark.x;
  }
  for (const auto& [place, end] : ends) x.take(end, false);
  if (chart.limit) x.take(chart.limit->first, false);
}

}  // namespace

const Node* at(const Node& node, std::string_view path) {
  const Node* here = &node;
  while (here != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    const formats::json::Member* member = here->is_object() ? here->find(path.substr(0, dot)) : nullptr;
    here = member ? &member->value : nullptr;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return here;
}

std::string text_at(const Node& node, std::string_view path) {
  const Node* found = at(node, path);
  return found && found->is_text() ? found->text : std::string();
}

std::optional<double> number_at(const Node& node, std::string_view path) {
  const Node* found = at(node, path);
  return found && found->is_number() ? std::optional(found->number) : std::nullopt;
}

const std::vector<Node>& items_at(const Node& node, std::string_view path) {
  static const std::vector<Node> kNone;
  const Node* found = at(node, path);
  return found && found->kind == Node::Kind::kList ? found->items : kNone;
}

std::string shown_number(double value) {
  const double size = std::fabs(value);
  const bool whole = size < 1e15 && (size >= 1e5 || value == std::floor(value));
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{:.6g}", value);
}

std::string shown_text(const Node& value) {
  switch (value.kind) {
    case Node::Kind::kNumber:
      return shown_number(value.number);
    case Node::Kind::kText:
      return value.text;
    case Node::Kind::kTruth:
      return value.truth ? "yes" : "no";
    default:
      return "-";
  }
}

Fact fact(std::string name, const Node* value) {
  if (value == nullptr) return {std::move(name), "-"};
  return {std::move(name), shown_text(*value), value->is_number() ? value->text : std::string()};
}

Fact derived(std::string name, std::string shown) {
  return {std::move(name), std::move(shown)};
}

std::string percent_of(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  return percent >= 10 || percent == 0 ? fmt::format("{:.0f} %", percent) : fmt::format("{:.2g} %", percent);
}

ChartUnit unit_of(double most, std::string_view base) {
  struct Steps {
    const char* base;
    std::vector<std::pair<double, const char*>> units;  // rising
  };
  static const std::vector<Steps> kKinds = {
      {"pJ", {{1, "pJ"}, {1e3, "nJ"}, {1e6, "\u00b5J"}, {1e9, "mJ"}, {1e12, "J"}}},
      {"s", {{1e-9, "ns"}, {1e-6, "\u00b5s"}, {1e-3, "ms"}, {1, "s"}, {3600, "h"}, {86400, "d"}}},
      {"B", {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}},
      {"um^2", {{1, "\u00b5m\u00b2"}, {1e6, "mm\u00b2"}}},
  };
  for (const Steps& kind : kKinds) {
    if (base != kind.base) continue;
    auto chosen = kind.units.front();
    for (const auto& unit : kind.units)
      if (most >= unit.first) chosen = unit;
    return {chosen.second, 1 / chosen.first};
  }
  return {std::string(base), 1};
}

const Palette& palette() {
  // Okabe and Ito's, without the yellow, which is lost on white; for a dark ground lighter ones of the same hues.
  static const Palette made = {
      {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#6b6b6b", "#8f7a00", "#5b3f8c", "#8a4b2a"},
      {"#4aa8e0", "#f0b429", "#2cc79b", "#e39cc4", "#9ad4f5", "#ff8a4c", "#a8a8a8", "#d6c04a", "#ab90e0", "#cf8f6c"}};
  return made;
}

std::string cell_colour(double share) {
  // Viridis at five places.
  constexpr std::array<std::array<double, 3>, 5> kStops = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  const double place = std::clamp(share, 0.0, 1.0) * 4;
  const auto from = std::min<std::size_t>(3, static_cast<std::size_t>(place));
  const double rest = place - static_cast<double>(from);
  const auto mix = [&](std::size_t i) { return kStops[from][i] + rest * (kStops[from + 1][i] - kStops[from][i]); };
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(mix(0)), static_cast<int>(mix(1)),
                     static_cast<int>(mix(2)));
}

double ChartScale::share(double value) const {
  if (log) return (std::log10(std::max(value, 1e-300)) - std::log10(least)) / (std::log10(most) - std::log10(least));
  return (value - least) / (most - least);
}

bool ChartScale::large() const {
  return std::max(std::fabs(least), std::fabs(most)) >= 1e5;
}

std::string ChartScale::text(double tick) const {
  if (!large()) return fmt::format("{:g}", tick);
  for (const auto& [size, prefix] : {std::pair{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (std::fabs(tick) >= size) return fmt::format("{:g}{}", tick / size, prefix);
  return fmt::format("{:g}", tick);
}

ChartScale scale_of(double least, double most, bool log) {
  if (!(least <= most)) least = log ? 1 : 0, most = log ? 10 : 1;
  ChartScale out;
  out.log = log;
  if (log) {
    const double low = std::floor(std::log10(least) + 1e-9), high = std::ceil(std::log10(most) - 1e-9);
    const bool fine = high - low <= 3;  // with 2 and 5, and ends among them
    out.least = std::pow(10, low), out.most = std::pow(10, std::max(high, low + 1));
    const double step = std::max(1.0, std::ceil((high - low) / 8));
    for (double power = low; power <= std::max(high, low + 1) + 0.5; power += step)
      for (const double digit : {1.0, 2.0, 5.0})
        if (const double tick = digit * std::pow(10, power); (digit == 1 || fine) && tick <= out.most * 1.0001)
          out.ticks.push_back(tick);
    if (fine) {
      for (const double tick : std::vector<double>(out.ticks)) {
        if (tick <= least * 0.98) out.least = tick;
        if (tick >= most * 1.02) {
          out.most = tick;
          break;
        }
      }
      std::erase_if(out.ticks, [&](double tick) { return tick < out.least * 0.999 || tick > out.most * 1.001; });
    }
    return out;
  }
  if (most == least) (most > 0 ? least : most) = most > 0 ? 0 : 1;
  const double rough = (most - least) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double digit : {2.0, 5.0, 10.0})
    if (step < rough * 0.999) step = digit * power;
  const auto first = std::floor(least / step + 1e-9), last = std::ceil(most / step - 1e-9);
  out.least = first * step, out.most = last * step;
  for (double at = first; at <= last + 0.5; ++at) out.ticks.push_back(at * step);
  return out;
}

std::string x_title(const Chart& chart) {
  return chart.limit ? fmt::format("{}; dashed: {}", chart.x.title, chart.limit->second) : chart.x.title;
}

std::pair<ChartScale, ChartScale> scales_of(const Chart& chart) {
  Extent x, y;
  if (chart.kind == Chart::Kind::kBars) take_bars(chart, x);
  for (const ChartMark& mark : chart.marks) {
    if (chart.kind == Chart::Kind::kBars) break;
    x.take(mark.x, chart.x.log);
    if (chart.kind == Chart::Kind::kSpans)
      x.take(mark.y, chart.x.log);
    else
      y.take(mark.y, chart.y.log);
  }
  for (const ChartLine& line : chart.lines)
    for (const auto& [at_x, at_y] : line.points) x.take(at_x, chart.x.log), y.take(at_y, chart.y.log);
  return {scale_of(x.least, x.most, chart.x.log), scale_of(y.least, y.most, chart.y.log)};
}

namespace {

// Names beside points: behind or before them, above or below, where they cover no other name, and no other point is
// nearer to where they begin, to which they would seem to belong; none of many.
void place_labels(Chart& chart) {
  constexpr double kWide = 590, kHigh = 330, kLetter = 6.4, kGap = 8, kPoint = 5, kLow = 3, kTop = 17, kBegin = 40;
  constexpr std::size_t kMost = 40;
  struct Box {
    double left, right, low, top;
    bool meets(const Box& other) const {
      return left < other.right && other.left < right && low < other.top && other.low < top;
    }
    bool meets(const std::vector<Box>& others) const {
      return std::any_of(others.begin(), others.end(), [&](const Box& other) { return meets(other); });
    }
  };
  if (chart.kind != Chart::Kind::kPoints) return;
  const auto [x, y] = scales_of(chart);
  std::vector<Box> points, names;
  for (const ChartMark& mark : chart.marks) {
    const double across = kWide * x.share(mark.x), up = kHigh * y.share(mark.y);
    points.push_back({across - kPoint, across + kPoint, up - kPoint, up + kPoint});
  }
  for (std::size_t i = chart.marks.size(); i-- > 0;) {
    ChartMark& mark = chart.marks[i];
    if (mark.label.empty()) continue;
    const double across = kWide * x.share(mark.x), up = kHigh * y.share(mark.y);
    const double width = kLetter * static_cast<double>(mark.label.size());
    bool free = false;
    for (const auto& [before, below] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
      const double left = before ? across - kGap - width : across + kGap, begin = std::min(width, kBegin);
      const Box box = {left, left + width, below ? up - kTop : up + kLow, below ? up - kLow : up + kTop};
      const Box near = {before ? box.right - begin : left, before ? box.right : left + begin, box.low, box.top};
      free = chart.marks.size() <= kMost && box.left >= 0 && box.right <= kWide && box.low >= 0 && !box.meets(names) &&
             !near.meets(points);
      if (!free) continue;
      names.push_back(box);
      mark.label_before = before, mark.label_below = below;
      break;
    }
    if (!free) mark.label.clear();
  }
}

}  // namespace

void prepare(Chart& chart) {
  constexpr std::size_t kMostMarks = 3000;
  const auto lost = [&](const ChartMark& mark) {
    return !std::isfinite(mark.x) || !std::isfinite(mark.y) || (chart.x.log && mark.x <= 0) ||
           (chart.y.log && chart.kind == Chart::Kind::kPoints && mark.y <= 0);
  };
  const auto mention = [&](const std::string& text) { chart.note += (chart.note.empty() ? "" : " ") + text; };
  if (const std::size_t gone = std::erase_if(chart.marks, lost); gone > 0)
    mention(fmt::format("{} of them at 0 or without end {} left out.", gone, gone == 1 ? "is" : "are"));
  if (const std::size_t all = chart.marks.size(); all > kMostMarks) {
    // Those with a name stay; of the others every so many.
    std::size_t named = 0;
    for (const ChartMark& mark : chart.marks) named += mark.label.empty() ? 0 : 1;
    const std::size_t every = (all - named) / (kMostMarks - std::min(named, kMostMarks / 2)) + 1;
    std::size_t seen = 0;
    std::erase_if(chart.marks, [&](const ChartMark& mark) { return mark.label.empty() && seen++ % every != 0; });
    mention(fmt::format("{} of {} are drawn: those with a name, and each {}th of the others. The document has all.",
                        chart.marks.size(), all, every));
  }
  place_labels(chart);
}

bool has_legend(const Chart& chart) {
  return chart.series.size() > (chart.kind == Chart::Kind::kPoints ? 0U : 1U);
}

std::vector<std::string> places_of(const Chart& chart) {
  return in_order(chart, &ChartMark::place);
}

std::vector<std::string> columns_of_cells(const Chart& chart) {
  return chart.columns.empty() ? in_order(chart, &ChartMark::column) : chart.columns;
}

}  // namespace orrery::verbs
