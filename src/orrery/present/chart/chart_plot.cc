#include "orrery/present/chart/chart_plot.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kPlotRows = 16, kMostLetters = 26, kFewLetters = 12, kLeastColumns = 20;
// Of the eight colours those that are read on both grounds.
constexpr int kInk[] = {34, 33, 32, 35, 36, 31};

std::size_t nearest(double place) {
  return static_cast<std::size_t>(base::saturated(place + 0.5));
}

std::string letter_of(std::size_t mark) {
  return std::string(1, static_cast<char>('A' + mark));
}

class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows)
      : columns_(columns), rows_(rows), dots_(columns * rows, 0), letters_(columns * rows), ink_(columns * rows, -1) {}

  // Both from 0 to 1, from the lower left.
  void dot(double x, double y) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
    const auto across = nearest(x * static_cast<double>(2 * columns_ - 1));
    const auto down = nearest((1 - y) * static_cast<double>(4 * rows_ - 1));
    static constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    dots_[(down / 4) * columns_ + across / 2] |= kBits[down % 4][across % 2];
  }
  void line(double x, double y, double to_x, double to_y) {
    const auto steps = static_cast<int>(4 * (columns_ + rows_));
    for (int i = 0; i <= steps; ++i) dot(x + (to_x - x) * i / steps, y + (to_y - y) * i / steps);
  }
  void letter(double x, double y, const std::string& text, int ink) {
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) return;
    const auto across = nearest(x * static_cast<double>(columns_ - 1));
    const auto down = nearest((1 - y) * static_cast<double>(rows_ - 1));
    std::string& cell = letters_[down * columns_ + across];
    cell = cell.empty() || cell == text ? text : "*";
    ink_[down * columns_ + across] = ink;
  }
  std::string row(std::size_t row, bool colour) const {
    std::string out;
    for (std::size_t i = row * columns_; i < (row + 1) * columns_; ++i) {
      if (!letters_[i].empty()) {
        out += colour && ink_[i] >= 0 ? fmt::format("\x1b[{}m{}\x1b[0m", ink_[i], letters_[i]) : letters_[i];
      } else if (dots_[i] == 0) {
        out += ' ';
      } else {  // U+2800 and the dots
        const unsigned code = 0x2800U + dots_[i];
        out += static_cast<char>(0xe0U | (code >> 12U));
        out += static_cast<char>(0x80U | ((code >> 6U) & 0x3fU));
        out += static_cast<char>(0x80U | (code & 0x3fU));
      }
    }
    const std::size_t end = out.find_last_not_of(' ');
    return end == std::string::npos ? "" : out.substr(0, end + 1);
  }

 private:
  std::size_t columns_, rows_;
  std::vector<unsigned> dots_;
  std::vector<std::string> letters_;
  std::vector<int> ink_;
};

std::string shortened(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size() && shown_width(out) + 1 < width; ++i) {
    out += text[i];
    while (i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xc0U) == 0x80U) out += text[++i];
  }
  return out + "\u2026";
}

}  // namespace

std::string chart_plot(const Chart& chart, std::size_t width, bool colour) {
  if (chart.kind != Chart::Kind::kPoints || chart.marks.empty()) return "";
  const auto [x, y] = scales_of(chart);
  std::size_t labels = 1;
  for (const double tick : y.ticks) labels = std::max(labels, y.text(tick).size());
  const std::size_t columns = std::max(kLeastColumns, width > labels + 3 ? width - labels - 3 : 0);
  Canvas canvas(columns, kPlotRows);
  for (const ChartLine& line : chart.lines)
    for (std::size_t i = 1; i < line.points.size(); ++i)
      canvas.line(x.share(line.points[i - 1].first), y.share(line.points[i - 1].second), x.share(line.points[i].first),
                  y.share(line.points[i].second));
  // Of many points only those of the first series, such as a front, have letters.
  const auto first =
      static_cast<std::size_t>(std::count_if(chart.marks.begin(), chart.marks.end(), [&](const ChartMark& mark) {
        return !chart.series.empty() && mark.series == chart.series[0];
      }));
  const bool all = chart.marks.size() <= kFewLetters, some = all || (first > 0 && first <= kMostLetters);
  std::size_t letters = 0;
  std::string legend;
  for (std::size_t i = 0; i < chart.marks.size(); ++i) {
    const ChartMark& mark = chart.marks[i];
    const auto series = std::find(chart.series.begin(), chart.series.end(), mark.series) - chart.series.begin();
    const int ink = kInk[static_cast<std::size_t>(series) % std::size(kInk)];
    const char* const sign = series == 0 ? "o" : series == 1 ? "." : "+";
    const bool lettered = all || (some && series == 0);
    canvas.letter(x.share(mark.x), y.share(mark.y), lettered ? letter_of(letters) : sign, ink);
    if (!lettered || mark.facts.empty()) continue;
    // As many lines as its figures need.
    std::string what = letter_of(letters++) + "  " + mark.facts.front().shown;
    for (std::size_t f = 1; f < mark.facts.size(); ++f) {
      const std::string next = fmt::format("  {} {}", mark.facts[f].name, mark.facts[f].shown);
      if (shown_width(what) + shown_width(next) > width) legend += shortened(what, width) + "\n", what = " ";
      what += next;
    }
    legend += shortened(what, width) + "\n";
  }
  if (!all)
    for (std::size_t i = some ? 1 : 0; i < std::min<std::size_t>(3, chart.series.size()); ++i)
      legend += fmt::format("{} {}\n", i == 0 ? "o" : i == 1 ? "." : "+", chart.series[i]);
  std::string out = shortened(chart.title, width) + "\n" + shortened(chart.y.title, width) + "\n";
  for (std::size_t row = 0; row < kPlotRows; ++row) {
    std::string label;
    for (const double tick : y.ticks)
      if (nearest((1 - y.share(tick)) * (kPlotRows - 1)) == row) label = y.text(tick);
    const std::string drawn = canvas.row(row, colour);
    out += fmt::format("{:>{}} |{}\n", label, labels, drawn);
  }
  out += std::string(labels + 1, ' ') + "+" + std::string(columns, '-') + "\n";
  std::string ticks(columns + 12, ' ');
  std::size_t free = 0;
  for (const double tick : x.ticks) {
    const std::string text = x.text(tick);
    const auto at = nearest(x.share(tick) * static_cast<double>(columns - 1));
    const std::size_t begin = at + text.size() > columns ? columns - std::min(columns, text.size()) : at;
    if (begin < free || begin + text.size() > ticks.size()) continue;
    ticks.replace(begin, text.size(), text);
    free = begin + text.size() + 1;
  }
  ticks.erase(ticks.find_last_not_of(' ') + 1);
  out += std::string(labels + 2, ' ') + ticks + "\n" + std::string(labels + 2, ' ') +
         shortened(chart.x.title, columns) + "\n";
  return out + legend;
}

}  // namespace orrery::verbs
