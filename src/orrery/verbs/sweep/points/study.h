// A study: a base question and the fields that vary, whose values make the points.
//
// Groups are multiplied, the last one running fastest; the fields of one group go side by side (a zip). A point is its
// number in that product, so that a billion of them need no room. A path without a dot is an option of the verb
// (`seq`, `tp`, `chip`); any other is one of `--set` (`arch.Scratchpad.depth`, `model.layers`, `plan.zero`).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/verbs/sweep/points/filter.h"
#include "orrery/verbs/sweep/points/study_objective.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::sweep {

using Point = std::uint64_t;
inline constexpr double kMostPoints = 1e15;

struct Axis {
  std::string path;
  std::vector<std::string> values;
  base::Location where;
};

struct Group {
  std::vector<Axis> axes;  // as many values each
  std::size_t size() const { return axes.empty() ? 0 : axes.front().values.size(); }
};

struct Budget {
  store::Figure figure;
  double most = 0;
  base::Location where;
};

// What a configuration of Timeloop-Experiments pins (hw_configs.h): the whole array, or what its scripts pin.
enum class Pins { kArray, kScripts };

struct Study {
  std::string title;
  std::string verb = "map";
  std::vector<std::string> arguments;  // of the verb: the base question
  std::vector<Group> groups;
  std::vector<Filter> where;
  std::vector<Budget> budgets;
  std::vector<Objective> objectives;
  Pins pins = Pins::kArray;

  // Throws InputError: O2047 where there is no point, O2048 where there are too many, O2060 for a path that varies
  // twice or is set as well, O2059 for an option that no point depends on, O2046 for fields side by side that have
  // different numbers of values, O2051 for objectives and budgets of figures that the verb's points do not have.
  void check() const;
  Point points() const;
  // What is set at a point, in the order of the axes.
  base::Overrides at(Point point) const;
  // Whether every filter lets it through.
  bool wanted(const base::Overrides& values) const;
  std::vector<const Axis*> axes() const;

  // The text that fixes the points: the same one, the same study.
  std::string identity() const;
  // Objectives, budgets and filters: what a bound excluded, it excluded for these.
  std::string asked() const;
};

}  // namespace orrery::sweep
