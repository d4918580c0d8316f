// What the parts of a search over plans share: the question, what was counted, and how plans and bounds are scored.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/search/bounds.h"
#include "orrery/engines/cluster/search/incumbents.h"
#include "orrery/engines/cluster/search/objective.h"
#include "orrery/engines/cluster/search/optimize.h"
#include "orrery/engines/cluster/search/space.h"

namespace orrery::cluster {

inline constexpr std::uint32_t kEvery = 16;  // steps, each some microseconds, between looks at the clock

struct Counts {
  std::uint64_t evaluated = 0, bound = 0, capacity = 0, limit = 0;

  void add(const Counts& other);
};

struct Question {
  const Model& model;
  const System& system;
  const Domain& domain;
  const Objective& objective;
  const PlanLimits& limits;
  const machine::OperatorModel& operators;
  const SearchOptions& options;
  std::vector<Metric> metrics;
};

// `least_used`, `most_used`: accelerators of the plans that are bounded. `exact`: they have that memory.
ScoreBound bound_of(const Question& q, double seconds, double memory, double batch, double least_used, double most_used,
                    bool exact);
bool over_limits(const Question& q, double seconds, double batch, double used, double paid);
// Whether bounds of seconds exceed a limit for certain.
bool surely_over(const Question& q, double seconds, double batch, double used, double paid);
bool within(const PlanLimits& limits, const Bytes& bytes);

// Evaluates the plan, and keeps it unless it exceeds the limits of time and cost: false then.
bool take(const Question& q, const Plan& plan, Incumbents& incumbents, Counts& counts);

}  // namespace orrery::cluster
