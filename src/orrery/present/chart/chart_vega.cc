#include "orrery/present/chart/chart_vega.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/present/chart/chart_parallel.h"

namespace orrery::verbs {
namespace {

using List = Json::List;
using Object = Json::Object;

constexpr double kDrawnWidth = 680, kDrawnHeight = 380, kDrawnRow = 24;

Json numbers(const std::vector<double>& values) {
  List out;
  for (const double value : values) out.emplace_back(value);
  return out;
}

Json words(const std::vector<std::string>& values) {
  List out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

Json field(const char* scale, const char* name) {
  return Object{{"scale", scale}, {"field", name}};
}

Json signal(const char* expression) {
  return Object{{"signal", expression}};
}

// The figures of a mark, as a tooltip shows them: to the last digit.
Json tooltip(const ChartMark& mark) {
  Object out;
  for (const Fact& fact : mark.facts) out.emplace_back(fact.name, fact.exact.empty() ? fact.shown : fact.exact);
  return out;
}

Json values_of(const Chart& chart) {
  List out;
  const std::string only = chart.series.empty() ? std::string() : chart.series.front();
  for (const ChartMark& mark : chart.marks) {
    if (chart.kind == Chart::Kind::kPoints && ((chart.x.log && mark.x <= 0) || (chart.y.log && mark.y <= 0))) continue;
    const bool parallel = chart.kind == Chart::Kind::kParallel;
    Object row = {{parallel ? "shares" : "x", parallel ? numbers(mark.shares) : Json(mark.x)}};
    if (parallel) row.emplace_back("first", !chart.series.empty() && mark.series == chart.series[0]);
    if (chart.kind == Chart::Kind::kPoints || chart.kind == Chart::Kind::kSpans) row.emplace_back("y", mark.y);
    if (chart.kind != Chart::Kind::kPoints && !parallel) row.emplace_back("place", mark.place);
    if (chart.kind == Chart::Kind::kCells) row.emplace_back("column", mark.column);
    if (chart.side_by_side) {
      const auto found = std::find(chart.series.begin(), chart.series.end(), mark.series);
      row.emplace_back("slot", static_cast<base::Count>(found - chart.series.begin()));
    }
    row.emplace_back("series", mark.series.empty() ? only : mark.series);
    if (!mark.label.empty() && chart.kind == Chart::Kind::kPoints) row.emplace_back("label", mark.label);
    if (!mark.label.empty() && mark.label_before) row.emplace_back("before", true);
    if (!mark.label.empty() && mark.label_below) row.emplace_back("below", true);
    row.emplace_back("tip", tooltip(mark));
    out.emplace_back(std::move(row));
  }
  return out;
}

Json lines_of(const Chart& chart) {
  List out;
  for (const ChartLine& line : chart.lines)
    for (const auto& [x, y] : line.points)
      out.push_back(Object{{"line", line.name},
                           {"x", x},
                           {"y", y},
                           {"dash", line.dashed ? Json(List{5, 4}) : Json(List{1, 0})},
                           {"tip", Object{{"line", line.name}}}});
  return out;
}

Json scale_json(const char* name, const ChartScale& scale, const char* range) {
  return Object{{"name", name},
                {"type", scale.log ? "log" : "linear"},
                {"domain", List{scale.least, scale.most}},
                {"zero", false},
                {"range", range}};
}

Json axis_json(const char* orient, const char* scale, const std::string& title, const ChartScale* ticks) {
  Object out = {{"orient", orient}, {"scale", scale}, {"labelLimit", 170}, {"labelOverlap", true}};
  if (!title.empty()) out.emplace_back("title", title);
  if (ticks) {
    out.emplace_back("values", numbers(ticks->ticks));
    out.emplace_back("grid", true);
    out.emplace_back("format", ticks->large() ? ".6~s" : ".6~g");
  }
  return out;
}

Json row_marks(const Chart& chart) {
  const bool span = chart.kind == Chart::Kind::kSpans;
  const auto slots = static_cast<double>(std::max<std::size_t>(1, chart.series.size()));
  Object y = {{"scale", "y"}, {"field", "place"}};
  Object height = {{"scale", "y"}, {"band", 1}};
  if (chart.side_by_side) {
    const std::string share = fmt::format("bandwidth('y')/{}", slots);
    y.emplace_back("offset", Object{{"signal", "datum.slot*" + share}});
    height = {{"signal", share}};
  }
  const bool stacked = !span && !chart.side_by_side;
  Object from = {{"scale", "x"}}, to = {{"scale", "x"}};
  if (stacked)
    from.emplace_back("field", "x0"), to.emplace_back("field", "x1");
  else if (span)
    from.emplace_back("field", "x"), to.emplace_back("field", "y");
  else
    from.emplace_back("value", 0), to.emplace_back("field", "x");
  return Object{{"type", "rect"},
                {"name", "marks"},
                {"from", Object{{"data", stacked ? "stacked" : "values"}}},
                {"encode", Object{{"update", Object{{"x", std::move(from)},
                                                    {"x2", std::move(to)},
                                                    {"y", std::move(y)},
                                                    {"height", std::move(height)},
                                                    {"fill", field("colour", "series")},
                                                    {"fillOpacity", Object{{"value", 1}}},
                                                    {"tooltip", signal("datum.tip")}}},
                                  {"hover", Object{{"fillOpacity", Object{{"value", 0.7}}}}}}}};
}

Json line_marks() {
  const Json line = Object{{"type", "line"},
                           {"from", Object{{"data", "one"}}},
                           {"encode", Object{{"update", Object{{"x", field("x", "x")},
                                                               {"y", field("y", "y")},
                                                               {"strokeDash", Object{{"field", "dash"}}},
                                                               {"strokeWidth", Object{{"value", 1.5}}},
                                                               {"tooltip", signal("datum.tip")}}}}}};
  return Object{{"type", "group"},
                {"from", Object{{"facet", Object{{"name", "one"}, {"data", "lines"}, {"groupby", "line"}}}}},
                {"marks", List{line}}};
}

Json point_marks(const Chart& chart) {
  const bool many = chart.marks.size() > 300;
  return Object{{"type", "symbol"},
                {"name", "marks"},
                {"from", Object{{"data", "values"}}},
                {"encode", Object{{"update", Object{{"x", field("x", "x")},
                                                    {"y", field("y", "y")},
                                                    {"size", Object{{"value", many ? 14 : 60}}},
                                                    {"fill", field("colour", "series")},
                                                    {"fillOpacity", Object{{"value", many ? 0.55 : 0.85}}},
                                                    {"tooltip", signal("datum.tip")}}},
                                  {"hover", Object{{"fillOpacity", Object{{"value", 1}}}}}}}};
}

Json name_marks() {
  return Object{{"type", "text"},
                {"from", Object{{"data", "values"}}},
                {"interactive", false},
                {"encode", Object{{"update", Object{{"x", field("x", "x")},
                                                    {"y", field("y", "y")},
                                                    {"dx", signal("datum.before?-8:8")},
                                                    {"align", signal("datum.before?'right':'left'")},
                                                    {"dy", signal("datum.below?4:-4")},
                                                    {"baseline", signal("datum.below?'top':'bottom'")},
                                                    {"text", Object{{"field", "label"}}}}}}}};
}

Json limit_rule(const Chart& chart) {
  return Object{{"type", "rule"},
                {"encode", Object{{"update", Object{{"x", Object{{"scale", "x"}, {"value", chart.limit->first}}},
                                                    {"y", Object{{"value", 0}}},
                                                    {"y2", signal("height")},
                                                    {"strokeWidth", Object{{"value", 2}}},
                                                    {"strokeDash", Object{{"value", List{5, 4}}}}}}}}};
}

// A rectangle that is drawn over points; the page shows their rows alone.
Json brush() {
  return List{Object{{"name", "brush"},
                     {"value", nullptr},
                     {"on", List{Object{{"events", "mousedown"}, {"update", "[x(),y(),x(),y()]"}},
                                 Object{{"events", "[mousedown, window:mouseup] > window:mousemove!"},
                                        {"update", "[brush[0],brush[1],clamp(x(),0,width),clamp(y(),0,height)]"}},
                                 Object{{"events", "dblclick"}, {"update", "null"}}}}}};
}

Json brush_mark() {
  return Object{{"type", "rect"},
                {"interactive", false},
                {"encode", Object{{"update", Object{{"x", signal("brush?brush[0]:0")},
                                                    {"y", signal("brush?brush[1]:0")},
                                                    {"x2", signal("brush?brush[2]:0")},
                                                    {"y2", signal("brush?brush[3]:0")},
                                                    {"fill", Object{{"value", "#888"}}},
                                                    {"fillOpacity", Object{{"value", 0.2}}}}}}}};
}

void add_rows(const Chart& chart, Json& spec) {
  const std::vector<std::string> places = places_of(chart);
  const auto [x, y] = scales_of(chart);
  const double slots = chart.side_by_side ? std::max(1.0, static_cast<double>(chart.series.size()) * 0.6) : 1;
  const double legend = chart.series.size() > 1 ? 24 + 16 * static_cast<double>((chart.series.size() - 1) / 4) : 0;
  spec["height"] = 72 + legend + kDrawnRow * slots * static_cast<double>(places.size());
  spec["scales"] =
      List{scale_json("x", x, "width"),
           Object{{"name", "y"}, {"type", "band"}, {"domain", words(places)}, {"range", "height"}, {"padding", 0.18}}};
  spec["axes"] = List{axis_json("bottom", "x", x_title(chart), &x), axis_json("left", "y", "", nullptr)};
  List marks = {row_marks(chart)};
  if (chart.limit) marks.push_back(limit_rule(chart));
  spec["marks"] = std::move(marks);
}

void add_points(const Chart& chart, Json& spec) {
  const auto [x, y] = scales_of(chart);
  spec["height"] = kDrawnHeight;
  spec["scales"] = List{scale_json("x", x, "width"), scale_json("y", y, "height")};
  spec["axes"] = List{axis_json("bottom", "x", chart.x.title, &x), axis_json("left", "y", chart.y.title, &y)};
  spec["signals"] = brush();
  List marks = {line_marks(), point_marks(chart)};
  marks.push_back(name_marks());
  marks.push_back(brush_mark());
  spec["marks"] = std::move(marks);
}

void add_cells(const Chart& chart, Json& spec) {
  const std::vector<std::string> places = places_of(chart), columns = columns_of_cells(chart);
  double most = 0;
  for (const ChartMark& mark : chart.marks) most = std::max(most, mark.x);
  spec["height"] = 110 + kDrawnRow * static_cast<double>(places.size());
  spec["scales"] = List{
      Object{{"name", "x"}, {"type", "band"}, {"domain", words(columns)}, {"range", "width"}},
      Object{{"name", "y"}, {"type", "band"}, {"domain", words(places)}, {"range", "height"}},
      Object{{"name", "heat"},
             {"type", "linear"},
             {"domain", List{0, most / 4, most / 2, 3 * most / 4, most}},
             {"range", List{cell_colour(0), cell_colour(0.25), cell_colour(0.5), cell_colour(0.75), cell_colour(1)}}}};
  spec["axes"] = List{axis_json("bottom", "x", chart.x.title, nullptr), axis_json("left", "y", chart.y.title, nullptr)};
  spec["legends"] = List{Object{{"fill", "heat"}, {"orient", "top"}, {"direction", "horizontal"}}};
  spec["marks"] = List{Object{{"type", "rect"},
                              {"name", "marks"},
                              {"from", Object{{"data", "values"}}},
                              {"encode", Object{{"update", Object{{"x", field("x", "column")},
                                                                  {"width", Object{{"scale", "x"}, {"band", 0.96}}},
                                                                  {"y", field("y", "place")},
                                                                  {"height", Object{{"scale", "y"}, {"band", 0.94}}},
                                                                  {"fill", field("heat", "x")},
                                                                  {"tooltip", signal("datum.tip")}}}}}}};
}

void drop_blanks(std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    } else if (text[i] == '<') {
      out += "\\u003c";
    } else {
      out += text[i];
    }
  }
  text = std::move(out);
}

}  // namespace

Json chart_vega(const Chart& chart) {
  Json spec = Object{{"$schema", "https://vega.github.io/schema/vega/v5.json"},
                     {"title", Object{{"text", chart.title}, {"anchor", "start"}, {"limit", kDrawnWidth}}},
                     {"description", chart.title + ". " + chart.description},
                     {"width", kDrawnWidth},
                     {"height", kDrawnHeight},
                     {"padding", 5},
                     {"autosize", Object{{"type", "fit"}, {"contains", "padding"}}},
                     {"config", chart_colours(false)}};
  List data = {Object{{"name", "values"}, {"values", values_of(chart)}}};
  if (chart.kind == Chart::Kind::kBars && !chart.side_by_side)
    data.push_back(Object{
        {"name", "stacked"},
        {"source", "values"},
        {"transform",
         List{Object{{"type", "stack"}, {"groupby", List{"place"}}, {"field", "x"}, {"as", List{"x0", "x1"}}}}}});
  if (chart.kind == Chart::Kind::kPoints) data.push_back(Object{{"name", "lines"}, {"values", lines_of(chart)}});
  spec["data"] = std::move(data);
  if (chart.kind == Chart::Kind::kCells) {
    add_cells(chart, spec);
    return spec;
  }
  if (chart.kind == Chart::Kind::kParallel)
    add_parallel(chart, spec);
  else if (chart.kind == Chart::Kind::kPoints)
    add_points(chart, spec);
  else
    add_rows(chart, spec);
  List scales = std::get<List>(spec["scales"].value());
  scales.push_back(Object{{"name", "colour"},
                          {"type", "ordinal"},
                          {"domain", words(chart.series.empty() ? std::vector<std::string>{""} : chart.series)},
                          {"range", "category"}});
  spec["scales"] = std::move(scales);
  if (has_legend(chart))
    spec["legends"] = List{Object{
        {"fill", "colour"}, {"orient", "top"}, {"direction", "horizontal"}, {"labelLimit", 260}, {"columns", 4}}};
  return spec;
}

Json chart_colours(bool dark) {
  const char *ink = dark ? "#e6e6e6" : "#222222", *faint = dark ? "#444444" : "#dddddd",
             *middle = dark ? "#9a9a9a" : "#666666";
  return Object{{"background", nullptr},
                {"range", Object{{"category", words(dark ? palette().dark : palette().light)}}},
                {"axis", Object{{"labelColor", ink},
                                {"titleColor", ink},
                                {"gridColor", faint},
                                {"domainColor", middle},
                                {"tickColor", middle},
                                {"labelFontSize", 11},
                                {"titleFontSize", 12},
                                {"titleFontWeight", "normal"}}},
                {"legend", Object{{"labelColor", ink}, {"titleColor", ink}, {"labelFontSize", 11}}},
                {"title", Object{{"color", ink}, {"fontSize", 14}}},
                {"text", Object{{"fill", ink}, {"fontSize", 11}}},
                {"line", Object{{"stroke", middle}}},
                {"rule", Object{{"stroke", ink}}}};
}

std::string script_text(const Json& json) {
  std::string out = text(json);
  drop_blanks(out);
  return out;
}

}  // namespace orrery::verbs
