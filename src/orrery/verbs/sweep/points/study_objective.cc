#include "orrery/verbs/sweep/points/study_objective.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::sweep {
namespace {

using store::Figure;

struct Name {
  const char* name;
  Figure figure;
};
constexpr Name kNames[] = {{"edp", Figure::kEdp},          {"energy", Figure::kEnergy},
                           {"cycles", Figure::kCycles},    {"utilization", Figure::kUtilization},
                           {"area", Figure::kArea},        {"seconds", Figure::kSeconds},
                           {"dollars", Figure::kDollars},  {"power", Figure::kPower},
                           {"edp-seed", Figure::kEdpSeed}, {"delay", Figure::kCycles},
                           {"time", Figure::kSeconds},     {"cost", Figure::kDollars}};

}  // namespace

double Objective::cost(const store::Figures& figures) const {
  const double value = figures[figure];
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  return most ? -value : value;
}

store::Figure figure_of(const std::string& name, const base::Location& where) {
  std::vector<std::string> known;
  for (const Name& each : kNames) {
    if (name == each.name || name == store::column(each.figure)) return each.figure;
    known.emplace_back(each.name);
  }
  base::fail("O2051", fmt::format("`{}` is no figure of a point", name), where,
             base::did_you_mean(name, known, fmt::format("figures are {}", base::joined(known, ", "))));
}

std::string_view name_of(Figure figure) {
  for (const Name& each : kNames)
    if (each.figure == figure) return each.name;
  return store::column(figure);
}

Objective objective_of(const std::string& name, const base::Location& where) {
  const Figure figure = figure_of(name, where);
  return {name, figure, figure == Figure::kUtilization, where};
}

const std::vector<Figure>& figures_of(const std::string& verb) {
  // What outcome_of and the engine of `map` fill in.
  static const std::map<std::string, std::vector<Figure>> figures = {
      {"map",
       {Figure::kEdp, Figure::kEnergy, Figure::kCycles, Figure::kUtilization, Figure::kArea, Figure::kSeconds,
        Figure::kPower, Figure::kEdpSeed}},
      {"map --fuse", {Figure::kEdp, Figure::kEnergy, Figure::kCycles, Figure::kSeconds, Figure::kArea, Figure::kPower}},
      {"energy", {Figure::kArea}},
      {"train", {Figure::kSeconds, Figure::kUtilization, Figure::kDollars, Figure::kEnergy, Figure::kPower}},
      {"place", {Figure::kSeconds, Figure::kUtilization, Figure::kDollars, Figure::kEnergy, Figure::kPower}},
      {"serve", {Figure::kSeconds, Figure::kDollars, Figure::kEnergy, Figure::kPower}},
      {"sparse simulate",
       {Figure::kCycles, Figure::kSeconds, Figure::kUtilization, Figure::kEnergy, Figure::kArea, Figure::kPower}},
      {"tune select", {Figure::kSeconds}}};
  static const std::vector<Figure> none;
  const auto known = figures.find(verb);
  return known == figures.end() ? none : known->second;
}

std::string searched_for(const std::string& verb, const std::vector<Objective>& objectives) {
  const auto all = [&](Figure figure) {
    return std::all_of(objectives.begin(), objectives.end(),
                       [&](const Objective& objective) { return objective.figure == figure; });
  };
  if (verb == "train") return all(Figure::kDollars) ? "cost" : all(Figure::kEnergy) ? "energy" : "";
  if (!verb.starts_with("map")) return "";
  bool energy = false, time = false;
  for (const Objective& objective : objectives) {
    const Figure figure = objective.figure;
    const bool both = figure == Figure::kEdp || figure == Figure::kEdpSeed;
    energy = energy || both || figure == Figure::kEnergy;
    time = time || both || figure == Figure::kCycles || figure == Figure::kSeconds;
  }
  if (energy == time) return "";
  if (verb == "map --fuse") return energy ? "energy" : "delay";
  return energy ? "energy,delay" : "delay,energy";
}

std::vector<Objective> usual_objectives(const std::string& verb) {
  if (verb == "energy") return {{"area", Figure::kArea, false}};
  if (verb.starts_with("map")) return {{"edp", Figure::kEdp, false}};
  return {{"seconds", Figure::kSeconds, false}};
}

}  // namespace orrery::sweep
