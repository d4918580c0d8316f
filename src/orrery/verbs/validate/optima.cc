#include "orrery/verbs/validate/optima.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/engines/cluster/search/optimize.h"
#include "orrery/formats/orrery/plan_fields.h"

namespace orrery::verbs {
namespace {

const std::vector<std::string> kRecipes = {"deepseek_v3", "dgxc2024_bf16", "dgxc2024_fp8", "korthikanti2022",
                                           "nemo_dense",  "nemo_experts",  "nemo_held"};

// What a search is asked, in words that are the same for the same question.
std::string question(const MeasuredRun& run) {
  return fmt::format("{} {:.6g} {} {} {} {} {} {}", run.model_name, cluster::parameters(run.model), run.model.seq,
                     run.system_name, run.system_changes, run.plan.gpus, run.plan.global_batch,
                     machine::name(run.plan.precision));
}

cluster::Space space_of(const FoundOptimum& recipe) {
  const MeasuredRun& run = recipe.recipe;
  cluster::Space space;
  cluster::Stack stack = run.system->stack;
  if (cluster::pipelines_small_batches(stack.name)) stack.lacks |= cluster::feature("zero_3");  // as `train`, unasked
  formats::orrery::take_stack(stack, space.base);
  space.base.gpus = space.most_gpus = run.plan.gpus;
  space.base.global_batch = run.plan.global_batch;
  space.base.precision = run.plan.precision;
  space.of(cluster::Variable::kGlobalBatch) = {run.plan.global_batch};
  space.waived = cluster::given_features(space);
  return space;
}

// False where nothing fits, or time is up.
bool search(const base::Limits& limits, const base::Budget& budget, FoundOptimum& recipe) {
  const MeasuredRun& run = recipe.recipe;
  const cluster::System& system = *run.system;
  const machine::Roofline operators(system.accelerator);
  const cluster::Space wide = space_of(recipe);
  cluster::Objective objective;
  objective.least_gpus = run.plan.gpus;
  cluster::SearchOptions options;
  options.threads = limits.threads;
  const double capacity = system.accelerator.memory_bytes;
  for (const PlanStage& stage : plan_stages(PlanScope::kUsual, std::nullopt, false, capacity)) {
    cluster::PlanLimits within;
    within.memory = capacity;
    within.in_use = capacity - stage.margin;
    const cluster::Optimum found =
        cluster::optimize(run.model, system, space_of_stage(stage.scope, run.model, system, wide), objective, within,
                          operators, budget, options);
    recipe.scope = stage.scope;
    recipe.gap = found.certificate.gap;
    if (!found.best.empty()) recipe.best = found.best.front();
    if (!found.best.empty() || !found.finished) return !found.best.empty();
  }
  return false;
}

}  // namespace

FoundOptima find_optima(const std::string& directory, const std::vector<std::string>& only,
                        const base::Limits& limits) {
  std::map<std::string, FoundOptimum> fastest;
  for (MeasuredSet& set : read_measured(directory, only.empty() ? kRecipes : only))
    for (MeasuredRun& run : set.runs) {
      FoundOptimum recipe;
      recipe.set = set.name;
      const cluster::Iteration iteration =
          cluster::evaluate(run.model, *run.system, run.plan, machine::Roofline(run.system->accelerator));
      recipe.predicted_s = iteration.iteration_s;
      recipe.measured_s = measured_seconds(iteration, run);
      const std::string asked = question(run);
      recipe.recipe = std::move(run);
      const auto known = fastest.find(asked);
      if (known == fastest.end() || recipe.measured_s < known->second.measured_s) fastest[asked] = std::move(recipe);
    }
  FoundOptima out;
  const base::Budget budget(limits);
  for (auto& [asked, recipe] : fastest)
    if (search(limits, budget, recipe)) out.recipes.push_back(std::move(recipe));
  std::stable_sort(out.recipes.begin(), out.recipes.end(),
                   [](const auto& a, const auto& b) { return a.ratio() > b.ratio(); });
  std::map<std::string, std::vector<double>> ratios;
  for (const FoundOptimum& each : out.recipes)
    ratios[cluster::name_of(each.best.plan.stack.name, cluster::stacks())].push_back(each.ratio());
  for (auto& [stack, all] : ratios) out.by_stack.push_back({stack, optimum_error(std::move(all))});
  return out;
}

}  // namespace orrery::verbs
