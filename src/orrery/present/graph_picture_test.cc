// Drawings of a kernel graph: DOT, the layered layout, SVG.
#include "orrery/present/graph_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/present/graph_dot.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/layered_layout.h"

namespace orrery::verbs {
namespace {

workload::KernelGraph layer(workload::Passes passes = workload::Passes::kForward) {
  workload::PlainTransformer shape;
  shape.hidden = 1024;
  shape.heads = 16;
  return language_model_graph(shape, 512, passes);
}

int count(const std::string& text, const std::string& part) {
  int times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

bool overlap(const LayoutNode& a, Point at_a, const LayoutNode& b, Point at_b) {
  return std::abs(at_a.x - at_b.x) < (a.width + b.width) / 2 && std::abs(at_a.y - at_b.y) < (a.height + b.height) / 2;
}

// Start tags have end tags in the right order, and nothing but them uses `<`.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty();
}

TEST(GraphDot, HasANodeAKernelAndAnArrowAnEdge) {
  const workload::KernelGraph graph = layer();
  GraphPicture picture;
  picture.graph = &graph;
  const std::string dot = graph_dot(picture);
  EXPECT_EQ(count(dot, "fillcolor="), 18);
  EXPECT_EQ(count(dot, " -> "), 21);
  EXPECT_EQ(count(dot, "subgraph"), 0);
  EXPECT_NE(dot.find("k6 [label=\"MHA_GEMM_1\\n16 x 512 x 512, K 64\""), std::string::npos) << dot;
}

TEST(GraphDot, ClustersHoldTheKernelsOfAConfigurationUnderItsLabel) {
  const workload::KernelGraph graph = layer();
  GraphPicture picture;
  picture.graph = &graph;
  picture.configuration.assign(18, 0);
  std::fill(picture.configuration.begin() + 9, picture.configuration.end(), 2);
  picture.configuration_labels = {"first"};
  picture.kernel_labels.assign(18, "");
  picture.kernel_labels[2] = "outer";
  const std::string dot = graph_dot(picture);
  EXPECT_EQ(count(dot, "subgraph"), 2);
  EXPECT_NE(dot.find("label=\"first\""), std::string::npos);
  EXPECT_NE(dot.find("label=\"configuration 2\""), std::string::npos);
  EXPECT_NE(dot.find("K 1024\\nouter\""), std::string::npos);
  EXPECT_LT(dot.find("k9 ["), dot.find("cluster_2"));
  EXPECT_GT(dot.find("k10 ["), dot.find("cluster_2"));
}

TEST(GraphDot, NamesCannotLeaveTheirQuotes) {
  workload::KernelGraph graph;
  graph.kernels.resize(1);
  graph.kernels[0].name = "a\"];\nb\\";
  GraphPicture picture;
  picture.graph = &graph;
  EXPECT_NE(graph_dot(picture).find("label=\"a\\\"];\\nb\\\\\\n1, K 1\""), std::string::npos) << graph_dot(picture);
}

TEST(LayeredLayout, NoTwoBoxesOverlapAndEveryEdgeLeadsDown) {
  const workload::KernelGraph graph = layer(workload::Passes::kForwardBackward);
  std::vector<LayoutNode> nodes;
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) nodes.push_back({100 + 3.0 * (k % 7), 40 + 5.0 * (k % 3), 0});
  std::vector<std::pair<int, int>> edges;
  for (const workload::KernelEdge& edge : graph.edges) edges.emplace_back(edge.from, edge.to);
  const LayeredLayout layout = layered_layout(nodes, edges);
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = a + 1; b < nodes.size(); ++b)
      EXPECT_FALSE(overlap(nodes[a], layout.centres[a], nodes[b], layout.centres[b])) << a << " " << b;
    EXPECT_GE(layout.centres[a].x - nodes[a].width / 2, 0);
    EXPECT_LE(layout.centres[a].x + nodes[a].width / 2, layout.width);
    EXPECT_LE(layout.centres[a].y + nodes[a].height / 2, layout.height);
  }
  for (const std::vector<Point>& route : layout.routes)
    for (std::size_t at = 1; at < route.size(); ++at) EXPECT_GE(route[at].y, route[at - 1].y);
}

TEST(LayeredLayout, LongEdgesPassBetweenTheBoxesOfARow) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3 past 1 and 2.
  const std::vector<LayoutNode> nodes(4, {80, 30, 0});
  const LayeredLayout layout = layered_layout(nodes, {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  const std::vector<Point>& route = layout.routes[3];
  ASSERT_EQ(route.size(), 6u);
  for (int node : {1, 2}) EXPECT_GT(std::abs(route[2 * node].x - layout.centres[node].x), 40);
}

TEST(LayeredLayout, UntanglesACrossing) {
  // Two parents whose children stand the other way round.
  const LayeredLayout layout = layered_layout(std::vector<LayoutNode>(4, {80, 30, 0}), {{0, 3}, {1, 2}});
  EXPECT_LT((layout.centres[0].x - layout.centres[1].x) * (layout.centres[2].x - layout.centres[3].x), 0);
}

TEST(LayeredLayout, BandsStandBelowEachOther) {
  std::vector<LayoutNode> nodes(3, {80, 30, 0});
  nodes[1].band = 4;
  nodes[2].band = 2;
  const LayeredLayout layout = layered_layout(nodes, {{0, 2}});
  ASSERT_EQ(layout.bands.size(), 3u);
  EXPECT_LT(layout.bands[0].bottom, layout.bands[1].top);
  EXPECT_GT(layout.centres[1].y, layout.bands[2].top);
  EXPECT_LT(layout.centres[2].y, layout.bands[1].bottom);
}

TEST(LayeredLayout, EdgesAgainstTheBandsAndCyclesAreDrawnAllTheSame) {
  std::vector<LayoutNode> nodes(4, {80, 30, 0});
  nodes[0].band = 1;
  EXPECT_EQ(layered_layout(nodes, {{0, 1}, {2, 3}, {3, 2}}).routes.size(), 3u);
  EXPECT_TRUE(layered_layout({}, {}).centres.empty());
}

TEST(GraphSvg, ShowsEveryKernelEdgeAndConfiguration) {
  const workload::KernelGraph graph = layer(workload::Passes::kForwardBackward);
  GraphPicture picture;
  picture.graph = &graph;
  picture.title = "a layer";
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) picture.configuration.push_back(k < 18 ? 0 : 3);
  const std::string svg = graph_svg(picture);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "marker-end"), 53);
  for (const workload::Kernel& kernel : graph.kernels) EXPECT_NE(svg.find(">" + kernel.name + "<"), std::string::npos);
  EXPECT_NE(svg.find(">configuration 3<"), std::string::npos);
  EXPECT_NE(svg.find(">a layer<"), std::string::npos);
  EXPECT_EQ(svg, graph_svg(picture));
}

TEST(GraphSvg, IsWellFormedWhateverTheNamesHold) {
  workload::KernelGraph graph;
  graph.kernels.resize(2);
  graph.kernels[0].name = "<script>&\"'</g>]]>\x01\xff\xc3";
  graph.kernels[1].name = std::string(500, 'x');
  GraphPicture picture;
  picture.graph = &graph;
  const std::string svg = graph_svg(picture);
  EXPECT_TRUE(well_formed(svg));
  EXPECT_EQ(count(svg, "<script"), 0);
  EXPECT_EQ(count(svg, "\x01"), 0);
  EXPECT_EQ(count(svg, "\xff"), 0);
  EXPECT_EQ(count(svg, std::string(50, 'x')), 10) << "only on hovering is the long name whole";
}

TEST(GraphSvg, XmlTextKeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(xml_text("Größe \u2264 \U0001F600"), "Größe \u2264 \U0001F600");
  EXPECT_EQ(xml_text("\xc0\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(xml_text("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(xml_text("\xe2\x82"), "\uFFFD\uFFFD");
  EXPECT_EQ(xml_text("a<b>&"), "a&lt;b&gt;&amp;");
}

TEST(GraphPicture, ShapesLeaveOutOnes) {
  workload::Kernel kernel;
  kernel.operands = workload::Operands::kOneElementwise;
  EXPECT_EQ(shape_text(kernel), "1");
  kernel.m = 3;
  kernel.n = 4;
  EXPECT_EQ(shape_text(kernel), "3 x 4");
}

TEST(GraphPicture, BytesAreRoundedToThreeDigits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(104857600), "105 MB");
  EXPECT_EQ(bytes_text(999.6e6), "1 GB");
  EXPECT_EQ(bytes_text(4.2949579e12), "4.29 TB");
}

}  // namespace
}  // namespace orrery::verbs
