// What a study looks for: a figure of its points, as small or as large as can be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::sweep {

struct Objective {
  std::string name;  // "edp"
  store::Figure figure = store::Figure::kEdp;
  bool most = false;  // the more the better
  base::Location where = {};

  // Less is better; absent figures are infinite.
  double cost(const store::Figures& figures) const;
};

// "edp", "energy", "cycles" (or "delay"), "utilization", "area", "seconds" (or "time"), "dollars" (or "cost"), "power",
// "edp-seed", or the names of their columns. Throws InputError O2051 at `where`, which says what they are called.
Objective objective_of(const std::string& name, const base::Location& where);
// A figure's name among objectives.
std::string_view name_of(store::Figure figure);
// The figure that a budget limits. Throws as objective_of.
store::Figure figure_of(const std::string& name, const base::Location& where);

// The figures that points of a verb have; empty for a verb that studies do not know.
const std::vector<store::Figure>& figures_of(const std::string& verb);

// What a verb's points are compared by where nothing is said.
std::vector<Objective> usual_objectives(const std::string& verb);

// What the verb is to minimise, as its `--objective`, for points that are ranked by these. Of `map`, what decides
// energy alone, or time alone; of `train`, what costs alone or energy alone decide. "": what it minimises by itself,
// which is a compromise where both are asked for (EDP).
std::string searched_for(const std::string& verb, const std::vector<Objective>& objectives);

}  // namespace orrery::sweep
