#include "orrery/base/numbers/pareto_front.h"

#include <algorithm>

namespace orrery::base {

bool beats(const Costs& a, const Costs& b) {
  bool below = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    below = below || a[i] < b[i];
  }
  return below;
}

bool ParetoFront::beats(const Costs& costs) const {
  // Only those that are not above in the first objective can.
  for (const Costs& each : costs_) {
    if (each[0] > costs[0]) return false;
    if (base::beats(each, costs)) return true;
  }
  return false;
}

void ParetoFront::add(const Costs& costs) {
  for (const Costs& each : costs_)
    if (each == costs || base::beats(each, costs)) return;
  std::erase_if(costs_, [&](const Costs& each) { return base::beats(costs, each); });
  costs_.insert(std::upper_bound(costs_.begin(), costs_.end(), costs), costs);
}

std::vector<std::size_t> unbeaten(const std::vector<Costs>& points) {
  std::vector<std::size_t> order, out;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!points[i].empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  ParetoFront front;
  for (const std::size_t i : order) {  // none that comes later beats an earlier one
    if (front.beats(points[i])) continue;
    front.add(points[i]);
    out.push_back(i);
  }
  return out;
}

}  // namespace orrery::base
