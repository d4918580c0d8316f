#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/present/graph_svg.h"
#include "orrery/verbs/sparse/break_even/report.h"

namespace orrery::verbs {
namespace {

constexpr double kCellWidth = 58, kCellHeight = 30, kLeft = 64, kTop = 74, kGap = 36, kBottom = 36;

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, xml_text(text));
}

double gain_of(const BreakEvenPoint& p) {
  return std::min(p.speedup, p.pytorch_speedup.value_or(p.speedup));
}

// From orange (half as fast) by white (as fast) to blue (four times as fast).
std::string colour_of(double gain) {
  const double share = std::clamp(gain > 1 ? std::log2(gain) / 2 : std::log2(gain), -1.0, 1.0);
  const double to[3] = {share > 0 ? 72.0 : 224.0, share > 0 ? 120.0 : 150.0, share > 0 ? 168.0 : 48.0};
  const auto part = [&](int i) {
    return base::whole_number(std::round(255 + (to[i] - 255) * std::fabs(share))).value_or(255);
  };
  return fmt::format("rgb({},{},{})", part(0), part(1), part(2));
}

template <class Value>
std::size_t place_of(std::vector<Value>& known, const Value& value) {
  const auto found = std::find(known.begin(), known.end(), value);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  known.push_back(value);
  return known.size() - 1;
}

}  // namespace

std::string break_even_svg(const BreakEven& answer) {
  std::vector<std::string> structures;
  std::vector<base::Count> lengths;
  std::vector<double> densities;
  for (const BreakEvenPoint& p : answer.points) {
    place_of(structures, p.structure);
    place_of(lengths, p.tokens);
    place_of(densities, p.wanted);
  }
  std::sort(lengths.begin(), lengths.end());
  std::sort(densities.begin(), densities.end());
  const double panel = kCellWidth * static_cast<double>(lengths.size()) + kGap;
  const double width = std::max(520.0, kLeft + panel * static_cast<double>(structures.size()));
  const double floor = kTop + kCellHeight * static_cast<double>(densities.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, floor + kBottom);
  out += text_at(16, 20, "font-size=\"13\" font-weight=\"bold\"",
                 "Sparse attention, prediction included: times as fast as dense");
  out += text_at(16, 38, "fill=\"#555\"",
                 fmt::format("{} x {} heads of {}, {}, {}, threads: {}{}; blue pays, orange does not", answer.batch,
                             answer.heads, answer.size, answer.dtype, answer.isa, answer.threads,
                             answer.pytorch_version.empty() ? "" : ", the faster of Orrery's and PyTorch's dense"));
  for (std::size_t s = 0; s < structures.size(); ++s) {
    const double left = kLeft + panel * static_cast<double>(s);
    out += text_at(left, kTop - 10, "font-weight=\"bold\"", structures[s]);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      out += text_at(left + kCellWidth * (static_cast<double>(i) + 0.5), floor + 15, "text-anchor=\"middle\"",
                     std::to_string(lengths[i]));
  }
  for (std::size_t i = 0; i < densities.size(); ++i)
    out += text_at(kLeft - 8, floor - kCellHeight * (static_cast<double>(i) + 0.35), "text-anchor=\"end\"",
                   fmt::format("{:g} %", densities[i] * 100));
  out += text_at(kLeft, floor + 30, "fill=\"#555\"", "tokens; upwards the density that was asked for");
  for (const BreakEvenPoint& p : answer.points) {
    const double x = kLeft + panel * static_cast<double>(place_of(structures, p.structure)) +
                     kCellWidth * static_cast<double>(place_of(lengths, p.tokens));
    const double y = floor - kCellHeight * static_cast<double>(place_of(densities, p.wanted) + 1);
    const double gain = gain_of(p);
    out += fmt::format(
        "<g><title>{}, {} tokens, density {:.4g} %\nsparse {:.4g} ms, of it predicted {:.4g} ms\ndense "
        "{:.4g} ms{}</title>\n",
        p.structure, p.tokens, p.density * 100, p.sparse_ms, p.predict_ms, p.dense_ms,
        p.pytorch_ms ? fmt::format("\nPyTorch {:.4g} ms", *p.pytorch_ms) : "");
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"white\"/>\n", x, y,
        kCellWidth, kCellHeight, colour_of(gain));
    out += text_at(x + kCellWidth / 2, y + kCellHeight / 2 + 4,
                   p.pays() ? "text-anchor=\"middle\" font-weight=\"bold\"" : "text-anchor=\"middle\"",
                   fmt::format("{:.2f}", gain)) +
           "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace orrery::verbs
