// Where the boxes and curves of a layered drawing stand: a directed graph in rows, every edge downwards.
#pragma once

#include <utility>
#include <vector>

namespace orrery::verbs {

struct LayoutNode {
  double width = 0, height = 0;  // pixels
  int band = 0;                  // nodes of a smaller band stand above those of a larger one
};

struct Point {
  double x = 0, y = 0;
};

struct LayeredLayout {
  std::vector<Point> centres;              // of the nodes
  std::vector<std::vector<Point>> routes;  // of the edges: start, ways past the nodes of each row, end
  struct Band {
    int band = 0;
    double top = 0, bottom = 0;
  };
  std::vector<Band> bands;  // those with nodes, ascending
  double width = 0, height = 0;
};

// Points of a route come in pairs that a vertical line joins from its second point on: (0), (1, 2), (3, 4), ..., last.
// Edges that lead upwards (against the bands, or on a cycle) go straight. Deterministic; no pixel depends on anything
// but the arguments. Cost: rows x (edges and the rows they cross), a dozen times.
LayeredLayout layered_layout(const std::vector<LayoutNode>& nodes, const std::vector<std::pair<int, int>>& edges);

}  // namespace orrery::verbs
