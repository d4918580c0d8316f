#include "orrery/present/chart/chart_svg.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/chart/chart_parallel.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

constexpr double kWidth = 680, kGlyph = 6.4, kRow = 22, kAxisRoom = 44, kMostLabel = 190, kPlotHeight = 340;

std::string cut(const std::string& text, double width) {
  const auto most = static_cast<std::size_t>(width / kGlyph);
  if (shown_width(text) <= most) return text;
  std::size_t end = 0, taken = 0;
  while (end < text.size() && taken + 1 < most) {
    ++end, ++taken;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) ++end;
  }
  return text.substr(0, end) + "\u2026";
}

std::string written(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     xml_text(text));
}

// Of very many points only the table tells.
std::string hover(const ChartMark& mark, std::size_t marks) {
  constexpr std::size_t kMostHovered = 300;
  std::string out;
  if (marks > kMostHovered) return out;
  for (const Fact& fact : mark.facts)
    out += (out.empty() ? "" : "\n") + fact.name + ": " + (fact.exact.empty() ? fact.shown : fact.exact);
  return out.empty() ? "" : "<title>" + xml_text(out) + "</title>";
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) { std::tie(x_, y_) = scales_of(chart); }

  std::string text() {
    legend();
    switch (chart_.kind) {
      case Chart::Kind::kPoints:
        points();
        break;
      case Chart::Kind::kCells:
        cells();
        break;
      default:
        rows();
        break;
    }
    return fmt::format(
               "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "aria-label=\"{2}\">\n",
               kWidth, height_, xml_text(chart_.title + ". " + chart_.description)) +
           out_ + "</svg>\n";
  }

 private:
  std::size_t colour(const std::string& series) const {
    const auto found = std::find(chart_.series.begin(), chart_.series.end(), series);
    const std::size_t place =
        found == chart_.series.end() ? 0 : static_cast<std::size_t>(found - chart_.series.begin());
    return place % palette().light.size();
  }

  void legend() {
    if (!has_legend(chart_)) return;
    double x = 8;
    top_ = 20;
    for (const std::string& name : chart_.series) {
      const double width = 26 + kGlyph * static_cast<double>(shown_width(name));
      if (x + width > kWidth) x = 8, top_ += 18;
      out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" class=\"c{}\"/>", x, top_ - 14,
                          colour(name));
      out_ += written(x + 16, top_ - 4, "start", name);
      x += width;
    }
    top_ += 4;
  }

  double across(double value) const { return left_ + x_.share(value) * (kWidth - right_ - left_); }
  double up(double value) const { return top_ + (1 - y_.share(value)) * kPlotHeight; }

  void bottom_axis(double height) {
    for (const double tick : x_.ticks) {
      const double x = across(tick);
      out_ += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x, top_,
                          top_ + height);
      out_ += written(x, top_ + height + 16, "middle", x_.text(tick));
    }
    out_ += written((left_ + kWidth - right_) / 2, top_ + height + 36, "middle", x_title(chart_));
    height_ = top_ + height + kAxisRoom;
  }

  // Room for the names of rows.
  void left_names(const std::vector<std::string>& names) {
    std::size_t longest = 4;
    for (const std::string& name : names) longest = std::max(longest, shown_width(name));
    left_ = std::min(kMostLabel, 14 + kGlyph * static_cast<double>(longest));
  }

  // Bars and spans.
  void rows() {
    const std::vector<std::string> places = places_of(chart_);
    const std::size_t slots = chart_.side_by_side ? std::max<std::size_t>(1, chart_.series.size()) : 1;
    const double row = slots > 1 ? 8 + 12 * static_cast<double>(slots) : kRow;
    left_names(places);
    right_ = 14;
    bottom_axis(row * static_cast<double>(places.size()));
    std::vector<double> ends(places.size(), 0);
    for (const ChartMark& mark : chart_.marks) {
      const auto place = static_cast<std::size_t>(std::find(places.begin(), places.end(), mark.place) - places.begin());
      const bool span = chart_.kind == Chart::Kind::kSpans;
      const double from = span ? mark.x : slots > 1 ? 0 : ends[place], to = span ? mark.y : from + mark.x;
      if (!span) ends[place] = to;
      const double thick = (row - 6) / static_cast<double>(slots);
      const double y = top_ + row * static_cast<double>(place) + 3 +
                       (slots > 1 ? thick * static_cast<double>(colour(mark.series)) : 0);
      out_ += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" class=\"c{}\">{}</rect>\n", across(from),
          y, std::max(0.0, across(to) - across(from)), thick, colour(mark.series), hover(mark, chart_.marks.size()));
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      out_ += written(left_ - 6, top_ + row * static_cast<double>(i) + row / 2 + 4, "end", cut(places[i], left_ - 10));
    if (!chart_.limit) return;
    const double x = across(chart_.limit->first), bottom = top_ + row * static_cast<double>(places.size());
    out_ += fmt::format("<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x, top_,
                        bottom);
  }

  void points() {
    left_ = 66, right_ = 16;
    if (top_ < 10) top_ = 10;
    bottom_axis(kPlotHeight);
    for (const double tick : y_.ticks) {
      const double y = up(tick);
      out_ += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left_,
                          kWidth - right_, y, y);
      out_ += written(left_ - 6, y + 4, "end", y_.text(tick));
    }
    out_ += fmt::format("<text transform=\"translate(14,{:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                        top_ + kPlotHeight / 2, xml_text(chart_.y.title));
    for (const ChartLine& line : chart_.lines) {
      std::string path;
      for (const auto& [x, y] : line.points) path += fmt::format("{:.1f},{:.1f} ", across(x), up(y));
      out_ += fmt::format("<polyline class=\"line{}\" points=\"{}\"><title>{}</title></polyline>\n",
                          line.dashed ? " dashed" : "", path, xml_text(line.name));
    }
    for (const ChartMark& mark : chart_.marks) {
      if ((chart_.x.log && mark.x <= 0) || (chart_.y.log && mark.y <= 0)) continue;
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"c{}\">{}</circle>\n", across(mark.x),
                          up(mark.y), chart_.marks.size() > 300 ? "2" : "4.5", colour(mark.series),
                          hover(mark, chart_.marks.size()));
      if (mark.label.empty()) continue;
      out_ += written(across(mark.x) + (mark.label_before ? -8 : 8), up(mark.y) + (mark.label_below ? 14 : -6),
                      mark.label_before ? "end" : "start", mark.label);
    }
  }

  void cells() {
    const std::vector<std::string> places = places_of(chart_), columns = columns_of_cells(chart_);
    left_names(places);
    double least = 0, most = 0;
    for (const ChartMark& mark : chart_.marks) least = std::min(least, mark.x), most = std::max(most, mark.x);
    const double width = (kWidth - 14 - left_) / static_cast<double>(std::max<std::size_t>(1, columns.size()));
    for (const ChartMark& mark : chart_.marks) {
      const auto row = std::find(places.begin(), places.end(), mark.place) - places.begin();
      const auto column = std::find(columns.begin(), columns.end(), mark.column) - columns.begin();
      out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\">{}</rect>\n",
                          left_ + width * static_cast<double>(column), top_ + kRow * static_cast<double>(row),
                          std::max(1.0, width - 1), kRow - 1,
                          cell_colour(most > least ? (mark.x - least) / (most - least) : 0),
                          hover(mark, chart_.marks.size()));
    }
    const double bottom = top_ + kRow * static_cast<double>(places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      out_ += written(left_ - 6, top_ + kRow * static_cast<double>(i) + 15, "end", cut(places[i], left_ - 10));
    const std::size_t every = 1 + static_cast<std::size_t>(base::saturated(40 / width));
    for (std::size_t i = 0; i < columns.size(); i += every)
      out_ += written(left_ + width * (static_cast<double>(i) + 0.5), bottom + 14, "middle", columns[i]);
    out_ += written((left_ + kWidth) / 2, bottom + 34, "middle", chart_.x.title);
    height_ = bottom + kAxisRoom;
  }

  const Chart& chart_;
  ChartScale x_, y_;
  std::string out_;
  double left_ = 60, right_ = 14, top_ = 6, height_ = 0;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
  return chart.kind == Chart::Kind::kParallel ? parallel_svg(chart) : Drawing(chart).text();
}

}  // namespace orrery::verbs
