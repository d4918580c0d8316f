// No arrow of a drawing runs through the title of a configuration.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "orrery/describe/workload/graphs/fft_graph.h"
#include "orrery/describe/workload/graphs/hpl_graph.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/present/graph_picture.h"
#include "orrery/present/graph_svg.h"
#include "orrery/present/layered_layout.h"

namespace orrery::verbs {
namespace {

struct Title {
  double left = 0, right = 0, top = 0, bottom = 0;
  std::string text;
};

// Letters of 11 pixels, bold, are seldom wider than 6.5 on average.
std::vector<Title> titles_of(const std::string& svg) {
  static const std::regex pattern(
      "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"start\" font-weight=\"bold\"[^>]*>([^<]*)</text>");
  std::vector<Title> titles;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]);
    titles.push_back({x, x + 6.5 * static_cast<double>((*at)[3].length()), y - 9, y + 3, (*at)[3]});
  }
  return titles;
}

// Points along every path with an arrow, a hundred a piece.
std::vector<Point> drawn(const std::string& svg) {
  static const std::regex pattern("<path d=\"([^\"]*)\" fill=\"none\"");
  std::vector<Point> points;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    std::string path = (*at)[1];
    std::replace(path.begin(), path.end(), ',', ' ');
    std::istringstream in(path);
    Point here;
    for (std::string word; in >> word;) {
      const char kind = word[0];
      const std::size_t size = kind == 'C' ? 3 : 1;
      std::vector<Point> to(size);
      to[0].x = std::stod(word.substr(1));
      for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) in >> to[i].x;
        in >> to[i].y;
      }
      if (kind == 'L') to = {here, to[0], to[0]};
      for (int step = 0; step <= 100 && kind != 'M'; ++step) {
        const double t = step / 100.0, s = 1 - t;
        points.push_back(
            {s * s * s * here.x + 3 * s * s * t * to[0].x + 3 * s * t * t * to[1].x + t * t * t * to[2].x,
             s * s * s * here.y + 3 * s * s * t * to[0].y + 3 * s * t * t * to[1].y + t * t * t * to[2].y});
      }
      here = to.back();
    }
  }
  return points;
}

void expect_clear_titles(const workload::KernelGraph& graph, int configurations) {
  GraphPicture picture;
  picture.graph = &graph;
  const int kernels = static_cast<int>(graph.kernels.size());
  for (int k = 0; k < kernels; ++k) picture.configuration.push_back(k * configurations / kernels);
  for (int c = 0; c < configurations; ++c)
    picture.configuration_labels.push_back("configuration " + std::to_string(c) + ": 123.456 us, bound by the network");
  const std::string svg = graph_svg(picture);
  const std::vector<Title> titles = titles_of(svg);
  ASSERT_EQ(static_cast<int>(titles.size()), configurations);
  const std::vector<Point> points = drawn(svg);
  ASSERT_GT(points.size(), 100u);
  for (const Title& title : titles)
    for (const Point& point : points)
      ASSERT_FALSE(point.x > title.left && point.x < title.right && point.y > title.top && point.y < title.bottom)
          << title.text << " at " << point.x << ", " << point.y;
}

TEST(GraphSvg, NoArrowRunsThroughATitle) {
  expect_clear_titles(workload::fft_graph(1 << 20), 2);
  const workload::KernelGraph hpl = workload::hpl_graph(1024, 64);
  expect_clear_titles(hpl, static_cast<int>(hpl.kernels.size()));
  workload::PlainTransformer shape;
  shape.hidden = 1024;
  shape.heads = 16;
  const workload::KernelGraph model = language_model_graph(shape, 512, workload::Passes::kForward);
  for (int configurations : {1, 2, 4, 18}) expect_clear_titles(model, configurations);
}

}  // namespace
}  // namespace orrery::verbs
