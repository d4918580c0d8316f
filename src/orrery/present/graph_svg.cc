// Idea: layered_layout.h says where everything stands; this file writes it down. Widths of texts are estimated from
// their number of characters, since no font is at hand.
#include "orrery/present/graph_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "orrery/present/layered_layout.h"

namespace orrery::verbs {
namespace {

using workload::Kernel;

constexpr double kCharacter = 7.4, kLine = 14, kPadding = 10, kLeastWidth = 96;
constexpr std::size_t kLongest = 44;  // characters of a line; the rest shows on hovering
constexpr double kLegend = 30, kTitle = 26;

// Bytes of the UTF-8 sequence that begins at `at`; 0 where there is none.
std::size_t sequence_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0U) != 0x80U) return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const unsigned second = byte(at + 1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) || (lead == 0xf0 && second < 0x90) ||
      (lead == 0xf4 && second >= 0x90))
    return 0;
  // U+FFFE and U+FFFF are no characters of XML.
  if (lead == 0xef && second == 0xbf && byte(at + 2) >= 0xbe) return 0;
  return length;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string elided(const std::string& text) {
  if (characters(text) <= kLongest) return text;
  std::string out;
  std::size_t taken = 0;
  for (std::size_t at = 0; at < text.size() && taken + 1 < kLongest; ++taken) {
    const std::size_t length = std::max<std::size_t>(1, sequence_length(text, at));
    out += text.substr(at, length);
    at += length;
  }
  return out + "\u2026";
}

std::vector<std::string> lines_of(const GraphPicture& picture, int kernel) {
  std::vector<std::string> lines = {elided(picture.graph->kernels[kernel].name)};
  for (const std::string& line : kernel_lines(picture, kernel)) lines.push_back(elided(line));
  return lines;
}

std::string hover(const GraphPicture& picture, int kernel) {
  const Kernel& of = picture.graph->kernels[kernel];
  std::string text = fmt::format("{}. {}", kernel + 1, of.name);
  if (picture.edge_labels.empty())
    text += fmt::format(": outer {}, M {}, K {}, N {}\ninput {}, second {}, output {}", of.outer, of.m, of.k, of.n,
                        bytes_text(of.input_bytes), bytes_text(of.second_bytes), bytes_text(of.output_bytes));
  if (of.memory_bytes > 0) text += fmt::format("\nmemory {}", bytes_text(of.memory_bytes));
  for (const std::string& line : kernel_lines(picture, kernel)) text += "\n" + line;
  return text;
}

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}{}>{}</text>\n", x, y, *attributes ? " " : "", attributes,
                     xml_text(text));
}

std::string node(const GraphPicture& picture, int kernel, const LayoutNode& size, Point centre) {
  const Kernel& of = picture.graph->kernels[kernel];
  std::string out = fmt::format(
      "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"{}\" "
      "stroke=\"#555\"/>\n",
      xml_text(hover(picture, kernel)), centre.x - size.width / 2, centre.y - size.height / 2, size.width, size.height,
      kernel_colour(of));
  double y = centre.y - size.height / 2 + kLine;
  for (const std::string& line : lines_of(picture, kernel)) {
    const bool name = y == centre.y - size.height / 2 + kLine;
    out += text_at(centre.x, y, name ? "font-weight=\"bold\"" : "fill=\"#333\" font-size=\"10\"", line);
    y += kLine;
  }
  return out + "</g>\n";
}

// Vertical where it passes a row, else a cubic whose ends point downwards.
std::string path(const std::vector<Point>& route) {
  std::string out = fmt::format("M{:.1f},{:.1f}", route[0].x, route[0].y);
  for (std::size_t at = 1; at < route.size(); ++at) {
    const Point from = route[at - 1], to = route[at];
    const bool passes = at % 2 == 0;
    if (passes) {
      out += fmt::format(" L{:.1f},{:.1f}", to.x, to.y);
      continue;
    }
    const double middle = (from.y + to.y) / 2;
    out += fmt::format(" C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", from.x, middle, to.x, middle, to.x, to.y);
  }
  return out;
}

std::string legend(double y) {
  const std::array<std::pair<Kernel, const char*>, 4> kinds = {{
      {{.unit = workload::KernelUnit::kSystolic}, "matrix units"},
      {{.unit = workload::KernelUnit::kSimd}, "vector lanes"},
      {{.unit = workload::KernelUnit::kSystolic, .direction = workload::Direction::kBackward},
       "matrix units, backward"},
      {{.unit = workload::KernelUnit::kSimd, .direction = workload::Direction::kBackward}, "vector lanes, backward"},
  }};
  std::string out;
  double x = 16;
  for (const auto& [kernel, name] : kinds) {
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"12\" rx=\"2\" fill=\"{}\" stroke=\"#555\"/>\n", x,
        y - 10, kernel_colour(kernel));
    out += text_at(x + 20, y, "text-anchor=\"start\" font-size=\"10\"", name);
    x += 40 + 5.5 * static_cast<double>(std::string(name).size());
  }
  return out;
}

constexpr double kLegendWidth = 600;

// A band's title stands in its upper left corner. Where an edge would run through one, the whole graph moves right
// until none does: a curve stays within the box of its control points, so the points tell.
constexpr double kTitleLeft = 18, kTitleTop = 3, kTitleBottom = 20, kTitleRoom = 8;

void make_room_for_titles(const GraphPicture& picture, LayeredLayout& layout) {
  double room = 0;
  for (const LayeredLayout::Band& band : layout.bands) {
    const double right =
        kTitleLeft + kCharacter * static_cast<double>(characters(configuration_label(picture, band.band))) + kTitleRoom;
    for (const std::vector<Point>& route : layout.routes)
      for (std::size_t at = 1; at < route.size(); ++at) {
        const Point from = route[at - 1], to = route[at];
        if (std::max(from.y, to.y) < band.top + kTitleTop || std::min(from.y, to.y) > band.top + kTitleBottom) continue;
        room = std::max(room, right - std::min(from.x, to.x));
      }
    // The band is at least as wide as its title.
    layout.width = std::max(layout.width, right + kTitleLeft);
  }
  for (Point& centre : layout.centres) centre.x += room;
  for (std::vector<Point>& route : layout.routes)
    for (Point& point : route) point.x += room;
  layout.width += room;
}

}  // namespace

std::string xml_text(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    const char c = text[at];
    if (length == 0) {
      out += "\uFFFD";
    } else if (length > 1) {
      out += text.substr(at, length);
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else if (c == '\n' || c == '\t' || c >= ' ') {
      out += c;
    }
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

std::string graph_svg(const GraphPicture& picture) {
  const workload::KernelGraph& graph = *picture.graph;
  const bool banded = !picture.configuration.empty();
  std::vector<LayoutNode> nodes;
  for (std::size_t kernel = 0; kernel < graph.kernels.size(); ++kernel) {
    const std::vector<std::string> lines = lines_of(picture, static_cast<int>(kernel));
    std::size_t longest = 0;
    for (const std::string& line : lines) longest = std::max(longest, characters(line));
    LayoutNode size;
    size.width = std::max(kLeastWidth, kCharacter * static_cast<double>(longest) + 2 * kPadding);
    size.height = kLine * static_cast<double>(lines.size()) + 8;
    size.band = banded ? picture.configuration[kernel] : 0;
    nodes.push_back(size);
  }
  std::vector<std::pair<int, int>> edges;
  for (const workload::KernelEdge& edge : graph.edges) edges.emplace_back(edge.from, edge.to);
  LayeredLayout layout = layered_layout(nodes, edges);
  if (banded) make_room_for_titles(picture, layout);

  const double head = picture.title.empty() ? 0 : kTitle;
  const double title = kCharacter * 13 / 11 * static_cast<double>(characters(picture.title));
  const double width = std::max({layout.width, kLegendWidth, title}), height = head + layout.height + kLegend;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n",
      width, height);
  out +=
      "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" "
      "orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#777\"/></marker></defs>\n";
  out += fmt::format("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", width, height);
  if (!picture.title.empty()) {
    out += fmt::format("<title>{}</title>\n", xml_text(picture.title));
    out += text_at(width / 2, 20, "font-size=\"13\" font-weight=\"bold\"", picture.title);
  }
  out += fmt::format("<g transform=\"translate({:.1f},{:.1f})\">\n", (width - layout.width) / 2, head);
  if (banded)
    for (const LayeredLayout::Band& band : layout.bands) {
      out += fmt::format(
          "<rect x=\"8\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"8\" fill=\"{}\" stroke=\"#bbb\"/>\n",
          band.top, layout.width - 16, band.bottom - band.top, configuration_colour(band.band));
      out += text_at(kTitleLeft, band.top + 15, "text-anchor=\"start\" font-weight=\"bold\" fill=\"#444\"",
                     configuration_label(picture, band.band));
    }
  for (std::size_t edge = 0; edge < edges.size(); ++edge)
    out += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"#777\" marker-end=\"url(#arrow)\"><title>{}</title></path>\n",
        path(layout.routes[edge]),
        xml_text(fmt::format("{} to {}: {}", graph.kernels[edges[edge].first].name,
                             graph.kernels[edges[edge].second].name, edge_text(picture, edge))));
  for (std::size_t kernel = 0; kernel < nodes.size(); ++kernel)
    out += node(picture, static_cast<int>(kernel), nodes[kernel], layout.centres[kernel]);
  out += "</g>\n" + legend(height - 10);
  return out + "</svg>\n";
}

}  // namespace orrery::verbs
