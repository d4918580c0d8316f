#include "orrery/present/chart/chart_parallel.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/graph_svg.h"

namespace orrery::verbs {
namespace {

using JsonList = Json::List;
using JsonObject = Json::Object;

constexpr double kParallelWidth = 680, kParallelHeight = 300, kSide = 60, kParallelTop = 62, kBelow = 26;

// Titles of neighbours stand at two heights, so that long ones do not meet.
double title_height(std::size_t axis) {
  return axis % 2 == 0 ? 0 : 15;
}

JsonObject constant(double value) {
  return {{"value", value}};
}

// Text at an axis: `row` of its data, at a height.
Json axis_text(const char* row, JsonObject height, double dy) {
  return JsonObject{{"type", "text"},
                    {"from", JsonObject{{"data", "axes"}}},
                    {"interactive", false},
                    {"encode", JsonObject{{"update", JsonObject{{"x", JsonObject{{"scale", "x"}, {"field", "axis"}}},
                                                                {"y", std::move(height)},
                                                                {"dy", constant(dy)},
                                                                {"align", JsonObject{{"value", "center"}}},
                                                                {"text", JsonObject{{"field", row}}}}}}}};
}

}  // namespace

std::string parallel_svg(const Chart& chart) {
  const std::size_t axes = chart.axes.size();
  const double step = axes > 1 ? (kParallelWidth - 2 * kSide) / static_cast<double>(axes - 1) : 0;
  const auto across = [&](std::size_t axis) { return kSide + step * static_cast<double>(axis); };
  std::string out = fmt::format(
      "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "aria-label=\"{2}\">\n",
      kParallelWidth, kParallelTop + kParallelHeight + kBelow, xml_text(chart.title + ". " + chart.description));
  const auto write = [&](double x, double y, const std::string& text, const char* anchor) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, xml_text(text));
  };
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const double x = 8 + 190 * static_cast<double>(i);
    out += fmt::format("<rect x=\"{:.1f}\" y=\"3\" width=\"11\" height=\"11\" class=\"c{}\"/>", x, i);
    write(x + 16, 13, chart.series[i], "start");
  }
  for (std::size_t i = 0; i < axes; ++i) {
    out += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", across(i),
                       kParallelTop, kParallelTop + kParallelHeight);
    write(across(i), 30 + title_height(i), chart.axes[i].title, "middle");
    write(across(i), kParallelTop - 3, chart.axes[i].high, "middle");
    write(across(i), kParallelTop + kParallelHeight + 14, chart.axes[i].low, "middle");
  }
  for (const ChartMark& mark : chart.marks) {
    std::string path;
    for (std::size_t i = 0; i < std::min(axes, mark.shares.size()); ++i)
      path += fmt::format("{:.1f},{:.1f} ", across(i), kParallelTop + (1 - mark.shares[i]) * kParallelHeight);
    const bool first = !chart.series.empty() && mark.series == chart.series[0];
    out += fmt::format("<polyline class=\"s{}\" points=\"{}\"/>\n", first ? 0 : 1, path);
  }
  return out + "</svg>\n";
}

void add_parallel(const Chart& chart, Json& spec) {
  JsonList titles, places;
  for (std::size_t i = 0; i < chart.axes.size(); ++i) {
    titles.push_back(JsonObject{{"axis", static_cast<base::Count>(i)},
                                {"title", chart.axes[i].title},
                                {"low", chart.axes[i].low},
                                {"high", chart.axes[i].high},
                                {"up", 12 + title_height(i)}});
    places.emplace_back(static_cast<base::Count>(i));
  }
  JsonList data = std::get<JsonList>(spec["data"].value());
  data.push_back(JsonObject{{"name", "axes"}, {"values", std::move(titles)}});
  data.push_back(JsonObject{{"name", "steps"},
                            {"source", "values"},
                            {"transform", JsonList{JsonObject{{"type", "identifier"}, {"as", "line"}},
                                                   JsonObject{{"type", "flatten"},
                                                              {"fields", JsonList{"shares"}},
                                                              {"index", "axis"},
                                                              {"as", JsonList{"share"}}}}}});
  spec["data"] = std::move(data);
  spec["height"] = kParallelHeight + 90;
  spec["scales"] = JsonList{
      JsonObject{{"name", "x"}, {"type", "point"}, {"domain", std::move(places)}, {"range", "width"}, {"padding", 0.4}},
      JsonObject{{"name", "y"},
                 {"type", "linear"},
                 {"domain", JsonList{0, 1}},
                 {"range", JsonList{JsonObject{{"signal", "height-22"}}, 44}}}};
  const Json rule =
      JsonObject{{"type", "rule"},
                 {"from", JsonObject{{"data", "axes"}}},
                 {"encode", JsonObject{{"update", JsonObject{{"x", JsonObject{{"scale", "x"}, {"field", "axis"}}},
                                                             {"y", constant(44)},
                                                             {"y2", JsonObject{{"signal", "height-22"}}},
                                                             {"stroke", JsonObject{{"value", "#888"}}}}}}}};
  const bool many = chart.marks.size() > 60;
  const Json line = JsonObject{
      {"type", "line"},
      {"name", "marks"},
      {"from", JsonObject{{"data", "one"}}},
      {"encode", JsonObject{{"update", JsonObject{{"x", JsonObject{{"scale", "x"}, {"field", "axis"}}},
                                                  {"y", JsonObject{{"scale", "y"}, {"field", "share"}}},
                                                  {"stroke", JsonObject{{"scale", "colour"}, {"field", "series"}}},
                                                  {"strokeWidth", constant(1.5)},
                                                  {"strokeOpacity",
                                                   JsonObject{{"signal", many ? "datum.first?0.9:0.25" : "0.8"}}},
                                                  {"tooltip", JsonObject{{"signal", "datum.tip"}}}}},
                            {"hover", JsonObject{{"strokeOpacity", constant(1)}}}}}};
  spec["marks"] = JsonList{
      rule,
      JsonObject{{"type", "group"},
                 {"from", JsonObject{{"facet", JsonObject{{"name", "one"}, {"data", "steps"}, {"groupby", "line"}}}}},
                 {"marks", JsonList{line}}},
      axis_text("high", constant(44), -4), axis_text("low", JsonObject{{"signal", "height"}}, -8),
      axis_text("title", JsonObject{{"field", "up"}}, 0)};
}

}  // namespace orrery::verbs
