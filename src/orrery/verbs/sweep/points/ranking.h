// What points come to: the best by each objective, the points that no other one beats, and which field matters.
//
// A point is beaten by another that is nowhere worse and somewhere better; one without a figure of some objective is
// not compared, and is not among the points that no other one beats. The best by an objective is the least in it; among
// equals the least in the other objectives in turn, then the first. So a beaten point is never the best in anything,
// and may be left out before it is evaluated.
//
// Main effects: the share of the variance of log(objective) between the values of a field, summed over points that have
// figures: SS_between / SS_total of an analysis of variance. The shares of fields that are multiplied sum to at most 1;
// what is missing acts together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/base/numbers/pareto_front.h"
#include "orrery/verbs/sweep/points/points.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

using base::Costs;

Costs costs_of(const Study& study, const store::Figures& figures);
// Whether a point's figures are within every budget. Otherwise `why` says which is exceeded.
bool within_budgets(const Study& study, const store::Figures& figures, std::string* why = nullptr);
// The largest of its figures' shares of their budgets.
double excess_of(const Study& study, const store::Figures& figures);

struct Effect {
  std::string path;
  double share = 0;
  std::string best;  // the value with the least mean
};

struct Ranking {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> best;    // by objective, places in Points; kNone: no point has the figure
  std::vector<std::size_t> pareto;  // rising by the first objective
  std::vector<Effect> effects;      // of the first objective, the largest first
  std::size_t ranked = 0;           // points with figures, within the budgets
  // Points with figures, but without that one: by objective, and by budget, whose points are not ranked.
  std::vector<std::size_t> without_objective, without_budget;
  std::size_t nearest = kNone;  // where none is within the budgets: the one that exceeds them least
  std::string excess;           // by what
};

Ranking rank(const Study& study, const Points& points);

}  // namespace orrery::sweep
