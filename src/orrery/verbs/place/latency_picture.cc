#include "orrery/verbs/place/latency_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "orrery/present/graph_picture.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/place/table.h"

namespace orrery::verbs {
namespace {

using dataflow::ConfigurationCost;

constexpr double kLeft = 80, kTop = 56, kHeight = 280, kBottom = 44, kLeastWidth = 420;

struct TimePart {
  const char* name;
  const char* colour;
  double ConfigurationCost::*ns;
};
constexpr std::array<TimePart, 3> kParts = {{{"compute", "#4878a8", &ConfigurationCost::compute_ns},
                                             {"memory", "#e0a030", &ConfigurationCost::memory_ns},
                                             {"network", "#b04848", &ConfigurationCost::network_ns}}};

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, *attributes ? " " : "", attributes,
                     xml_text(text));
}

std::string box(double x, double y, double width, double height, const char* colour) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x, y, width,
                     height, colour);
}

// A step of 1, 2 or 5 times a power of ten, of which four to ten reach `most`.
double step_of(double most) {
  const double ten = std::pow(10, std::floor(std::log10(most)));
  for (const double times : {0.1, 0.2, 0.5}) {
    if (most / (ten * times) <= 10) return ten * times;
  }
  return ten;
}

double stacked(const ConfigurationCost& cost) {
  double sum = 0;
  for (const TimePart& part : kParts) sum += cost.*part.ns;
  return sum;
}

std::string hover(const PlacedGraph& placed, const ConfigurationCost& cost, std::size_t index) {
  std::string text =
      fmt::format("configuration {}: {}", index, kernel_ranges(placed.setup.graph, cost.kernels, cost.kernels.size()));
  for (const TimePart& part : kParts) text += fmt::format("\n{} {}", part.name, shown_seconds(cost.*part.ns * 1e-9));
  return text + fmt::format("\ninterval {}, bound by {}", shown_seconds(cost.interval_ns * 1e-9), name(cost.bound));
}

}  // namespace

std::string latency_svg(const PlacedGraph& placed) {
  const auto& costs = placed.placement.evaluation.partition.configurations;
  double most = 0;
  std::size_t bars = 0;
  for (const ConfigurationCost& cost : costs) {
    if (cost.kernels.empty()) continue;
    ++bars;
    most = std::max({most, stacked(cost), cost.interval_ns});
  }
  const double pitch = bars > 40 ? 12 : 44, bar = pitch * 0.7;
  const double width = std::max(kLeastWidth, kLeft + pitch * static_cast<double>(bars) + 20);
  const double height = kTop + kHeight + kBottom;
  const double scale = most > 0 ? kHeight / most : 0;
  const double floor = kTop + kHeight;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  out += text_at(
      16, 20, "font-size=\"13\" font-weight=\"bold\"",
      fmt::format("{}: {} of a pass", placed.title, shown_seconds(placed.placement.evaluation.sum_interval_ns * 1e-9)));
  double x = 16;
  for (const TimePart& part : kParts) {
    out += box(x, 30, 12, 10, part.colour) + text_at(x + 17, 39, "", part.name);
    x += 84;
  }
  out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"35\" y2=\"35\" stroke=\"black\" stroke-width=\"2\"/>\n", x,
                     x + 14) +
         text_at(x + 19, 39, "", "interval");
  if (most > 0) {
    const double step = step_of(most);
    for (int i = 0; static_cast<double>(i) * step <= most; ++i) {
      const double y = floor - i * step * scale;
      out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"#ddd\"/>\n", kLeft,
                         width - 10, y, y);
      out += text_at(kLeft - 8, y + 4, "text-anchor=\"end\"", shown_seconds(i * step * 1e-9));
    }
  }
  x = kLeft + (pitch - bar) / 2;
  for (std::size_t c = 0; c < costs.size(); ++c) {
    const ConfigurationCost& cost = costs[c];
    if (cost.kernels.empty()) continue;
    out += fmt::format("<g><title>{}</title>\n", xml_text(hover(placed, cost, c)));
    double y = floor;
    for (const TimePart& part : kParts) {
      const double tall = cost.*part.ns * scale;
      if (tall <= 0) continue;
      y -= tall;
      out += box(x, y, bar, tall, part.colour);
    }
    const double at = floor - cost.interval_ns * scale;
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"black\" stroke-width=\"2\"/>\n", x - 2,
        x + bar + 2, at, at);
    if (bars <= 40 || c % 8 == 0)
      out += text_at(x + bar / 2, floor + 16, "text-anchor=\"middle\"", fmt::format("{}", c));
    out += "</g>\n";
    x += pitch;
  }
  return out + text_at(kLeft, floor + 34, "", "configuration") + "</svg>\n";
}

}  // namespace orrery::verbs
