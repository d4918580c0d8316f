#include "orrery/verbs/train/operators/run_operators.h"

#include <algorithm>

namespace orrery::verbs {

std::vector<RunOperator> run_operators(const cluster::OperatorUses& uses, const machine::OperatorModel& operators) {
  std::vector<RunOperator> out;
  double all = 0;
  for (const cluster::OperatorUse& use : uses) {
    RunOperator listed{use, operators.cost(use.one)};
    listed.seconds = use.times * listed.cost.seconds;
    all += listed.seconds;
    out.push_back(std::move(listed));
  }
  for (RunOperator& listed : out) listed.share = all > 0 ? listed.seconds / all : 0;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return out;
}

std::optional<double> operator_joules(const std::vector<RunOperator>& listed, const cluster::Plan& plan) {
  double sum = 0;
  for (const RunOperator& one : listed) {
    if (!one.cost.joules) return std::nullopt;
    sum += one.use.times * *one.cost.joules;
  }
  return sum * static_cast<double>(plan.gpus) / static_cast<double>(plan.pp);
}

}  // namespace orrery::verbs
