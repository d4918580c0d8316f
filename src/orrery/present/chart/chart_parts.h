// What charts of several kinds of documents are put together from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// An amount of each name, in order of appearance.
struct Share {
  std::string name;
  double amount = 0;
};
void add_share(std::vector<Share>& shares, const std::string& name, double amount);
double total_of(const std::vector<Share>& shares);
const Share& largest_of(const std::vector<Share>& shares);  // of at least one
// Bars of what an object's members come to, the largest first; those of 0 are left out.
Chart bars_of(const Node& object, std::string name, const std::string& axis, const char* unit);
// The line of points that none beats in both, x rising.
ChartLine front_line(std::vector<std::pair<double, double>> points, const std::string& name);
// A roof: the least of peak and bandwidth * x, from x `least` to `most`.
ChartLine roof_line(const std::string& name, double peak, double bandwidth, double least, double most);

}  // namespace orrery::verbs
