// Idea: Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures" (1981).
//
// 1. Rows: the longest path within a node's band; bands one below the other.
// 2. An edge over several rows gets a way-point in each row between, a narrow box that takes room like a node.
// 3. Order within a row: mean position of the neighbours in the row above, then below, a few times; of all orders tried
//    the one with the fewest crossings, counted as inversions with a Fenwick tree.
// 4. Places: each box wants to stand at the mean of its neighbours in the row above (then below); the places nearest to
//    what is wanted, in the least squares, at the least distances, are found exactly by pooling adjacent violators
//    (isotonic regression). Way-points weigh more, so that long edges run straight.
//
// Cost: linear in boxes and edges, times sweeps, times a logarithm. With more than kMostWaypoints way-points long edges
// get none and go straight.
#include "orrery/present/layered_layout.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>

namespace orrery::verbs {
namespace {

constexpr double kMargin = 16, kGap = 18, kWaypointWidth = 6;
constexpr double kRowGap = 30, kBandHead = 24, kBandFoot = 12, kBandGap = 14;
constexpr int kSweeps = 12;
constexpr std::size_t kMostWaypoints = 100'000;

struct Box {
  double width = 0;
  int row = 0;
  bool waypoint = false;
  double x = 0;
  std::vector<int> above, below;  // neighbours
};

struct Drawing {
  std::vector<Box> boxes;  // nodes first, then way-points
  std::vector<std::vector<int>> rows;
  std::vector<std::vector<int>> ways;  // of each edge: boxes from start to end; empty: straight
};

// Row of each node, and the first row of each band that is used.
std::vector<int> rows_of(const std::vector<LayoutNode>& nodes, const std::vector<std::pair<int, int>>& edges,
                         std::map<int, int>& first_rows) {
  const std::size_t count = nodes.size();
  std::vector<std::vector<int>> next(count);
  std::vector<int> waiting(count, 0), level(count, 0), ready;
  for (const auto& [from, to] : edges)
    if (nodes[from].band == nodes[to].band) {
      next[from].push_back(to);
      ++waiting[to];
    }
  for (std::size_t node = 0; node < count; ++node)
    if (waiting[node] == 0) ready.push_back(static_cast<int>(node));
  for (std::size_t at = 0; at < ready.size(); ++at)
    for (int to : next[ready[at]]) {
      level[to] = std::max(level[to], level[ready[at]] + 1);
      if (--waiting[to] == 0) ready.push_back(to);
    }
  std::map<int, int> deepest;
  for (std::size_t node = 0; node < count; ++node) {
    int& depth = deepest[nodes[node].band];
    depth = std::max(depth, level[node] + 1);
  }
  int row = 0;
  for (const auto& [band, depth] : deepest) {
    first_rows[band] = row;
    row += depth;
  }
  for (std::size_t node = 0; node < count; ++node) level[node] += first_rows[nodes[node].band];
  return level;
}

void join(Drawing& drawing, int above, int below) {
  drawing.boxes[above].below.push_back(below);
  drawing.boxes[below].above.push_back(above);
}

Drawing boxes_of(const std::vector<LayoutNode>& nodes, const std::vector<std::pair<int, int>>& edges,
                 const std::vector<int>& row) {
  Drawing drawing;
  const int rows = row.empty() ? 0 : *std::max_element(row.begin(), row.end()) + 1;
  drawing.rows.resize(rows);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    Box box;
    box.width = nodes[node].width;
    box.row = row[node];
    drawing.boxes.push_back(std::move(box));
    drawing.rows[row[node]].push_back(static_cast<int>(node));
  }
  std::size_t waypoints = 0;
  for (const auto& [from, to] : edges) waypoints += std::max(0, row[to] - row[from] - 1);
  drawing.ways.resize(edges.size());
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    const auto [from, to] = edges[edge];
    if (row[to] <= row[from] || (waypoints > kMostWaypoints && row[to] > row[from] + 1)) continue;
    std::vector<int>& way = drawing.ways[edge];
    way.push_back(from);
    for (int between = row[from] + 1; between < row[to]; ++between) {
      Box box;
      box.width = kWaypointWidth;
      box.row = between;
      box.waypoint = true;
      const int index = static_cast<int>(drawing.boxes.size());
      drawing.boxes.push_back(std::move(box));
      drawing.rows[between].push_back(index);
      join(drawing, way.back(), index);
      way.push_back(index);
    }
    join(drawing, way.back(), to);
    way.push_back(to);
  }
  return drawing;
}

std::vector<int> positions(const Drawing& drawing) {
  std::vector<int> position(drawing.boxes.size(), 0);
  for (const std::vector<int>& row : drawing.rows)
    for (std::size_t at = 0; at < row.size(); ++at) position[row[at]] = static_cast<int>(at);
  return position;
}

long long crossings(const Drawing& drawing) {
  const std::vector<int> position = positions(drawing);
  long long sum = 0;
  for (std::size_t row = 0; row + 1 < drawing.rows.size(); ++row) {
    const std::size_t size = drawing.rows[row + 1].size();
    std::vector<long long> tree(size + 1, 0);
    long long seen = 0;
    for (int box : drawing.rows[row]) {
      const std::vector<int>& below = drawing.boxes[box].below;
      // Those of one box do not cross each other: all are asked first, then entered.
      for (int to : below) {
        long long at_most = 0;
        for (int at = position[to] + 1; at > 0; at -= at & -at) at_most += tree[at];
        sum += seen - at_most;
      }
      for (int to : below) {
        for (std::size_t at = position[to] + 1; at <= size; at += at & -at) ++tree[at];
        ++seen;
      }
    }
  }
  return sum;
}

void sort_row(std::vector<int>& row, const Drawing& drawing, std::vector<int>& position, bool downwards) {
  std::vector<std::pair<double, int>> wanted;
  for (int box : row) {
    const std::vector<int>& neighbours = downwards ? drawing.boxes[box].above : drawing.boxes[box].below;
    double sum = 0;
    for (int neighbour : neighbours) sum += position[neighbour];
    wanted.emplace_back(neighbours.empty() ? position[box] : sum / static_cast<double>(neighbours.size()), box);
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t at = 0; at < row.size(); ++at) {
    row[at] = wanted[at].second;
    position[row[at]] = static_cast<int>(at);
  }
}

void order(Drawing& drawing) {
  std::vector<std::vector<int>> best = drawing.rows;
  long long fewest = crossings(drawing);
  for (int sweep = 0; sweep < kSweeps && fewest > 0; ++sweep) {
    std::vector<int> position = positions(drawing);
    const bool downwards = sweep % 2 == 0;
    const int rows = static_cast<int>(drawing.rows.size());
    for (int step = 0; step < rows; ++step)
      sort_row(drawing.rows[downwards ? step : rows - 1 - step], drawing, position, downwards);
    const long long now = crossings(drawing);
    if (now < fewest) {
      fewest = now;
      best = drawing.rows;
    }
  }
  drawing.rows = std::move(best);
}

double least_distance(const Box& left, const Box& right) {
  return (left.width + right.width) / 2 + (left.waypoint && right.waypoint ? kGap / 2 : kGap);
}

// Nearest places to `wanted` at the least distances. With the distances to the first box taken off, places need only
// not descend: isotonic regression.
void place_row(const std::vector<int>& row, std::vector<Box>& boxes, const std::vector<double>& wanted) {
  struct Pool {
    double sum = 0, weight = 0;
    int count = 0;
    double mean() const { return sum / weight; }
  };
  std::vector<Pool> pools;
  std::vector<double> offset(row.size(), 0);
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (at > 0) offset[at] = offset[at - 1] + least_distance(boxes[row[at - 1]], boxes[row[at]]);
    const double weight = boxes[row[at]].waypoint ? 4 : 1;
    pools.push_back({(wanted[at] - offset[at]) * weight, weight, 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().weight += last.weight;
      pools.back().count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools)
    for (int member = 0; member < pool.count; ++member, ++at) boxes[row[at]].x = pool.mean() + offset[at];
}

void place(Drawing& drawing) {
  for (const std::vector<int>& row : drawing.rows) place_row(row, drawing.boxes, std::vector<double>(row.size(), 0));
  const int rows = static_cast<int>(drawing.rows.size());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const bool downwards = sweep % 2 == 0;
    for (int step = 0; step < rows; ++step) {
      const std::vector<int>& row = drawing.rows[downwards ? step : rows - 1 - step];
      std::vector<double> wanted;
      for (int box : row) {
        const Box& of = drawing.boxes[box];
        const std::vector<int>& neighbours = downwards ? of.above : of.below;
        double sum = 0;
        for (int neighbour : neighbours) sum += drawing.boxes[neighbour].x;
        wanted.push_back(neighbours.empty() ? of.x : sum / static_cast<double>(neighbours.size()));
      }
      place_row(row, drawing.boxes, wanted);
    }
  }
  double left = std::numeric_limits<double>::max();
  for (const Box& box : drawing.boxes) left = std::min(left, box.x - box.width / 2);
  for (Box& box : drawing.boxes) box.x += 2 * kMargin - left;
}

// Where an edge meets a node: beside each other, in the order of the boxes they come from or lead to.
double port(const Drawing& drawing, int node, int other, bool leaving) {
  const Box& box = drawing.boxes[node];
  std::vector<int> others = leaving ? box.below : box.above;
  std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return drawing.boxes[a].x < drawing.boxes[b].x; });
  const auto at = static_cast<double>(std::find(others.begin(), others.end(), other) - others.begin());
  const auto count = static_cast<double>(others.size());
  return box.x + (at - (count - 1) / 2) * std::min(14.0, box.width / (count + 1));
}

}  // namespace

LayeredLayout layered_layout(const std::vector<LayoutNode>& nodes, const std::vector<std::pair<int, int>>& edges) {
  LayeredLayout layout;
  if (nodes.empty()) return layout;
  std::map<int, int> first_rows;
  const std::vector<int> row = rows_of(nodes, edges, first_rows);
  Drawing drawing = boxes_of(nodes, edges, row);
  order(drawing);
  place(drawing);

  std::vector<double> tallest(drawing.rows.size(), 0), middle(drawing.rows.size(), 0);
  for (std::size_t node = 0; node < nodes.size(); ++node)
    tallest[row[node]] = std::max(tallest[row[node]], nodes[node].height);
  double y = kMargin;
  for (auto band = first_rows.begin(); band != first_rows.end(); ++band) {
    const auto next = std::next(band);
    const int end = next == first_rows.end() ? static_cast<int>(tallest.size()) : next->second;
    LayeredLayout::Band box{band->first, y, 0};
    y += kBandHead;
    for (int at = band->second; at < end; ++at) {
      middle[at] = y + tallest[at] / 2;
      y += tallest[at] + (at + 1 < end ? kRowGap : kBandFoot);
    }
    box.bottom = y;
    y += kBandGap;
    layout.bands.push_back(box);
  }
  layout.height = y - kBandGap + kMargin;
  for (const Box& box : drawing.boxes) layout.width = std::max(layout.width, box.x + box.width / 2 + 2 * kMargin);

  for (std::size_t node = 0; node < nodes.size(); ++node)
    layout.centres.push_back({drawing.boxes[node].x, middle[row[node]]});
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    const auto [from, to] = edges[edge];
    const std::vector<int>& way = drawing.ways[edge];
    const Point start = layout.centres[from], end = layout.centres[to];
    std::vector<Point> route;
    const double top = start.y + nodes[from].height / 2, bottom = end.y - nodes[to].height / 2;
    route.push_back({way.empty() ? start.x : port(drawing, from, way[1], true), top});
    for (std::size_t at = 1; at + 1 < way.size(); ++at) {
      const Box& box = drawing.boxes[way[at]];
      route.push_back({box.x, middle[box.row] - tallest[box.row] / 2});
      route.push_back({box.x, middle[box.row] + tallest[box.row] / 2});
    }
    route.push_back({way.empty() ? end.x : port(drawing, to, way[way.size() - 2], false), bottom});
    layout.routes.push_back(std::move(route));
  }
  return layout;
}

}  // namespace orrery::verbs
