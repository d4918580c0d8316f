#include "orrery/inputs/systems/plan_stages.h"

#include <fmt/format.h>

namespace orrery::verbs {

std::vector<PlanStage> plan_stages(PlanScope scope, const std::optional<MemoryMargin>& margin, bool limited,
                                   double capacity) {
  const bool gives_way = !margin && !limited;
  const double free = gives_way ? kUsualMargin.of(capacity) : margin.value_or(MemoryMargin{}).of(capacity);
  std::vector<PlanStage> stages = {{scope, free}};
  if (scope == PlanScope::kUsual) stages.push_back({PlanScope::kUnoffloaded, free});
  if (scope != PlanScope::kAll && gives_way) stages.push_back({PlanScope::kUnoffloaded, 0});
  if (scope != PlanScope::kAll) stages.push_back({PlanScope::kAll, free});
  if (gives_way) stages.push_back({PlanScope::kAll, 0});
  return stages;
}

cluster::Space space_of_stage(PlanScope scope, const cluster::Model& model, const cluster::System& system,
                              const cluster::Space& wide) {
  if (scope == PlanScope::kUsual) return cluster::usual_space(model, system, wide);
  return scope == PlanScope::kUnoffloaded ? cluster::without_offloading(wide) : wide;
}

std::string scope_in_words(PlanScope scope, cluster::StackName software) {
  if (scope == PlanScope::kAll) return "all plans, offloading among them";
  if (scope == PlanScope::kUnoffloaded) return "all plans that offload nothing";
  const std::string bounded = cluster::pipelines_small_batches(software)
                                  ? fmt::format(", microbatches of 1 to {}, ZeRO 1 at most", cluster::kMostMicroBatch)
                                  : "";
  return fmt::format(
      "usual plans: tp within a node, at least {} tokens on a context rank{}, nothing offloaded, but for what is given",
      cluster::kLeastLocalTokens, bounded);
}

}  // namespace orrery::verbs
