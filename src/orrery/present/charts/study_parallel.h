// Parallel coordinates of a study.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "orrery/present/chart/chart.h"

namespace orrery::verbs {

// A figure of a point beside its fields: its key and what its axis says.
struct StudyFigure {
  std::string key, title;
};

// Fields that vary and figures, an axis each; those of `front` are drawn above the others. Of many points some.
Chart study_parallel(const std::vector<Node>& points, const std::vector<StudyFigure>& figures,
                     const std::set<std::size_t>& front);

// "Scratchpad.depth" of "arch.Scratchpad.depth".
std::string last_part(const std::string& path);
// A point's fields by their paths.
std::vector<std::pair<std::string, const Node*>> config_of(const Node& point);
// Whether an axis of these is better logarithmic.
bool spreads(double least, double most);

}  // namespace orrery::verbs
