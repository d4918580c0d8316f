// Grids that a verb computes point by point: every combination of choices, the last choice running fastest.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/pareto_front.h"

namespace orrery::verbs {

// Each point once for each value of one more choice.
template <class Point, class Value, class Member>
void multiply(std::vector<Point>& points, const std::vector<Value>& values, Member Point::*choice) {
  std::vector<Point> out;
  for (const Point& point : points)
    for (const Value& value : values) {
      out.push_back(point);
      out.back().*choice = value;
    }
  points = std::move(out);
}

// What a grid may spend, and whom to tell how far it is.
struct GridRequest {
  base::Limits limits;
  std::function<void(std::size_t done, std::size_t all)> progress;
};

// The points that were computed before the limits ended it, in the order of the grid.
template <class Point>
struct GridAnswer {
  std::vector<Point> points;
  std::size_t all = 0;  // how many there would be
  bool interrupted = false, out_of_time = false;
  std::vector<base::Input> inputs;

  void add(Point point, const GridRequest& request) {
    points.push_back(std::move(point));
    if (request.progress) request.progress(points.size(), all);
  }
  // `costs_of` a point: empty for one that is not compared. Those that no other one beats are marked.
  template <class CostsOf>
  void end(const base::Budget& budget, const CostsOf& costs_of) {
    interrupted = budget.interrupted();
    out_of_time = !interrupted && points.size() < all;
    mark_pareto(points, costs_of);
  }
};

template <class Point, class CostsOf>
void mark_pareto(std::vector<Point>& points, const CostsOf& costs_of) {
  std::vector<base::Costs> costs;
  for (Point& point : points) {
    point.pareto = false;
    costs.push_back(costs_of(point));
  }
  for (const std::size_t at : base::unbeaten(costs)) points[at].pareto = true;
}

}  // namespace orrery::verbs
