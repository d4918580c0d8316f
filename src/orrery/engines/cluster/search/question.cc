#include "orrery/engines/cluster/search/question.h"

#include "orrery/engines/cluster/model/evaluate.h"

namespace orrery::cluster {

void Counts::add(const Counts& other) {
  evaluated += other.evaluated;
  bound += other.bound;
  capacity += other.capacity;
  limit += other.limit;
}

ScoreBound bound_of(const Question& q, double seconds, double memory, double batch, double least_used, double most_used,
                    bool exact) {
  ScoreBound bound;
  for (std::size_t i = 0; i < q.metrics.size(); ++i) {
    bound.least[i] = q.objective.value(q.metrics[i], seconds, memory, batch, least_used, most_used);
    bound.exact[i] = exact && (q.metrics[i] == Metric::kMemory || q.metrics[i] == Metric::kAccelerators);
  }
  return bound;
}

bool over_limits(const Question& q, double seconds, double batch, double used, double paid) {
  return q.objective.value(Metric::kTime, seconds, 0, batch, used, paid) > q.limits.seconds ||
         q.objective.value(Metric::kCost, seconds, 0, batch, used, paid) > q.limits.cost;
}

bool surely_over(const Question& q, double seconds, double batch, double used, double paid) {
  return over_limits(q, seconds * (1 - kRounding), batch, used, paid);
}

bool within(const PlanLimits& limits, const Bytes& bytes) {
  return bytes.total <= limits.memory && bytes.in_use <= limits.in_use;
}

bool take(const Question& q, const Plan& plan, Incumbents& incumbents, Counts& counts) {
  Candidate candidate{plan, evaluate(q.model, q.system, plan, q.operators)};
  ++counts.evaluated;
  const auto gpus = static_cast<double>(plan.gpus);
  if (over_limits(q, candidate.iteration.iteration_s, static_cast<double>(plan.global_batch), gpus, gpus)) return false;
  for (std::size_t i = 0; i < q.metrics.size(); ++i)
    candidate.score[i] = q.objective.value(q.metrics[i], plan, candidate.iteration);
  incumbents.offer(candidate);
  return true;
}

}  // namespace orrery::cluster
