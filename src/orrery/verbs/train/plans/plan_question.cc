#include "orrery/verbs/train/plans/plan_question.h"

#include <array>
#include <utility>

namespace orrery::verbs {

std::string PlanQuestion::first_asked() const {
  const std::array<std::pair<bool, const char*>, 13> options = {{{front, "--pareto"},
                                                                 {!objective.empty(), "--objective"},
                                                                 {top.has_value(), "--top"},
                                                                 {most_gpus.has_value(), "--gpus N..M"},
                                                                 {!batches.empty(), "--global-batch N..M"},
                                                                 {most_memory.has_value(), "--max-memory"},
                                                                 {margin.has_value(), "--memory-margin"},
                                                                 {scope == PlanScope::kAll, "--space"},
                                                                 {most_dollars.has_value(), "--max-cost"},
                                                                 {most_seconds.has_value(), "--max-time"},
                                                                 {certify, "--certify"},
                                                                 {map, "--map"},
                                                                 {!why.empty(), "--why"}}};
  for (const auto& [given, option] : options)
    if (given) return option;
  return "";
}

}  // namespace orrery::verbs
