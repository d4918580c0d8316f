#include "orrery/verbs/train/plans/usual_plan.h"

#include <vector>

#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/supported_features.h"

namespace orrery::verbs {
namespace {

// Tensor ranks and pipeline stages by the rule, the smallest group first.
std::vector<std::pair<base::Count, base::Count>> groups(const cluster::Model& model, const cluster::System& system) {
  std::vector<std::pair<base::Count, base::Count>> out;
  base::Count tp = 1;
  for (; tp * 2 <= system.node_size; tp *= 2) out.emplace_back(tp, 1);
  for (base::Count pp = 1; pp <= model.layers; ++pp) out.emplace_back(tp, pp);
  return out;
}

}  // namespace

std::optional<UsualPlan> usual_plan(const cluster::Model& model, const cluster::System& system,
                                    const cluster::Plan& best, double margin, const machine::OperatorModel& operators) {
  using cluster::Recompute;
  const cluster::StackName kin = cluster::kin(best.stack.name);
  const bool megatron = kin == cluster::StackName::kMegatron2021 || kin == cluster::StackName::kMegatronCore;
  if (!megatron || model.mixes()) return std::nullopt;
  for (const Recompute again : {Recompute::kNone, Recompute::kFull})
    for (const auto& [tp, pp] : groups(model, system)) {
      if (best.gpus % (tp * pp) != 0) continue;
      cluster::Plan plan = best;
      plan.tp = tp, plan.pp = pp, plan.dp = best.gpus / (tp * pp), plan.cp = plan.ep = 1;
      plan.micro_batch = plan.interleave = 1;
      plan.schedule = cluster::Schedule::kOneFOneB;
      plan.recompute = again;
      plan.recompute_layers = 0;
      plan.offload_activations = plan.offload_optimizer = 0;
      plan.sequence_parallel = best.sequence_parallel && tp > 1;
      if (!cluster::possible(model, system, plan) || !cluster::runs_without(model, plan, plan.stack.lacks)) continue;
      const cluster::Iteration iteration = cluster::evaluate(model, system, plan, operators);
      if (iteration.memory.in_use() + margin > iteration.capacity_bytes) continue;
      return UsualPlan{
          "the fewest tensor ranks within a node, then pipeline stages, that fit; the rest data parallel; one sequence "
          "a microbatch, no interleaving (Narayanan et al. 2021, takeaways 1 and 2)",
          {plan, iteration}};
    }
  return std::nullopt;
}

}  // namespace orrery::verbs
