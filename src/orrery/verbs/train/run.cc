#include "orrery/verbs/train/run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/expected_error.h"
#include "orrery/inputs/systems/host_share.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/train/operators/operator_times.h"
#include "orrery/verbs/train/plans/plan_choice.h"
#include "orrery/verbs/train/plans/plan_rows.h"
#include "orrery/verbs/train/plans/row_setting.h"
#include "orrery/verbs/train/setting.h"
#include "orrery/verbs/train/software.h"

namespace orrery::verbs {
namespace {

// Nothing does more than its peak. Measurements can say so all the same: their own error, or another accelerator's.
void check_utilisation(TrainedModel& trained, const std::shared_ptr<const base::SourceFile>& measurements) {
  constexpr double kRounding = 1e-9;
  const double hfu = trained.iteration.done.hfu;
  if (hfu <= 1 + kRounding) return;
  if (trained.system.name == kThisMachine) {
    trained.warnings
        .warning("O1529", fmt::format("products run at {:.2f} times the peak that was measured for {}", hfu,
                                      machine::name(trained.plan.precision)))
        .note("other programs took the machine while its peak was measured, or the products")
        .hint("run it again when the machine is idle");
    return;
  }
  ORRERY_CHECK(measurements != nullptr, fmt::format("the run does {} times what its accelerators can", hfu));
  base::Diagnostics found;
  found
      .error("O1379", fmt::format("by the measurements the run does {:.0f} % of what its accelerators can", 100 * hfu),
             {measurements, 0, 0, 1})
      .note(fmt::format("the peak of `{}` in {} is {:.6g} TFLOP/s", trained.system.accelerator.name,
                        machine::name(trained.plan.precision),
                        trained.system.accelerator.peak(trained.plan.precision) / 1e12))
      .hint("are they of this accelerator and this precision, and in seconds?");
  found.throw_if_errors();
}

// The products of a run on a chip are searched before the run is priced, side by side.
void search_products(const ChipOperators& nests, const cluster::OperatorUses& uses, const TrainRequest& request) {
  std::vector<machine::MatrixProduct> products;
  for (const cluster::OperatorUse& use : uses)
    if (use.one.kind == machine::OperatorKind::kProduct) products.push_back(use.one.product);
  nests.prepare(products, request.searching);
}

// What is known of the operators one by one, where it is asked for.
void list_operators(const TrainOperators& operators, const cluster::OperatorUses& uses, const base::Limits& limits,
                    TrainedModel& trained) {
  trained.listed = run_operators(uses, operators.model());
  trained.joules = operator_joules(trained.listed, trained.plan);
  if (operators.nests() == nullptr) return;
  trained.searched = static_cast<base::Count>(operators.nests()->searched());
  trained.unproven = operators.nests()->unproven();
  warn_of_unproven(*operators.nests(), "the run", limits.stop != nullptr && limits.stop->load(), trained.warnings);
}

// Of the chip on which softmaxes run.
void add_inputs(const std::vector<base::Input>& more, TrainedModel& trained) {
  trained.inputs.insert(trained.inputs.end(), more.begin(), more.end());
  std::sort(trained.inputs.begin(), trained.inputs.end());
  trained.inputs.erase(std::unique(trained.inputs.begin(), trained.inputs.end()), trained.inputs.end());
}

// Whether the plan is the fastest of many: then predictions err in its favour.
bool chosen_for_time(const TrainedModel& trained) {
  if (!trained.search || trained.search->top.empty()) return false;
  for (const cluster::Metric metric : trained.search->objective.metrics)
    if (metric != cluster::Metric::kAccelerators) return metric != cluster::Metric::kMemory;
  return false;
}

// The fastest run of the same question that somebody measured, where nothing of model and system is set.
void find_published(const TrainRequest& request, TrainedModel& trained) {
  const bool changed =
      !request.chip.empty() || std::any_of(request.overrides.begin(), request.overrides.end(),
                                           [](const base::Override& set) { return !set.path.starts_with("plan."); });
  if (changed) return;
  constexpr double kPadding = 0.01;  // of parameters: vocabularies are rounded up
  const cluster::Plan& plan = trained.plan;
  for (MeasuredSet& set : read_measured(catalogue_directory(), {},
                                        {trained.model.name, trained.system.name, plan.gpus + plan.idle,
                                         plan.global_batch, std::make_shared<const cluster::System>(trained.system)}))
    for (MeasuredRun& run : set.runs) {
      if (run.model.seq != trained.model.seq || run.plan.precision != plan.precision || !run.system_changes.empty() ||
          std::abs(cluster::parameters(run.model) - trained.parameters) > kPadding * trained.parameters)
        continue;
      const cluster::Iteration iteration =
          cluster::evaluate(run.model, *run.system, run.plan, machine::Roofline(run.system->accelerator));
      const double measured = measured_seconds(iteration, run);
      if (trained.published && trained.published->measured_s <= measured) continue;
      trained.published = PublishedPlan{set.title, std::move(run), measured, iteration.iteration_s, iteration.fits};
    }
  if (!trained.published) return;
  const cluster::Plan& ran = trained.published->run.plan;
  trained.is_published = std::tie(plan.tp, plan.pp, plan.dp, plan.cp, plan.ep, plan.micro_batch, plan.interleave,
                                  plan.schedule, plan.recompute, plan.zero, plan.sequence_parallel) ==
                         std::tie(ran.tp, ran.pp, ran.dp, ran.cp, ran.ep, ran.micro_batch, ran.interleave, ran.schedule,
                                  ran.recompute, ran.zero, ran.sequence_parallel);
}

// Beside the best of a search, what a rule of thumb gives: where it was free to.
void find_usual(const machine::OperatorModel& operators, TrainedModel& trained) {
  const std::vector<std::string>& open = trained.defaulted;
  for (const char* degree : {"tp", "pp", "dp"})
    if (std::find(open.begin(), open.end(), degree) == open.end()) return;
  if (chosen_for_time(trained))
    trained.usual = usual_plan(trained.model, trained.system, trained.plan, trained.search->margin, operators);
}

// What lacks no more than its own error may fit.
void warn_of_uncertain_memory(TrainedModel& trained) {
  const cluster::Iteration& i = trained.iteration;
  if (i.fits || !i.uncertain) return;
  trained.warnings
      .warning("O1918",
               fmt::format("whether it fits is uncertain: an accelerator would need {:.1f} GB, +-{:.0f} %, and "
                           "has {:.1f} GB",
                           i.memory.in_use() / 1e9, 100 * i.memory_error, i.capacity_bytes / 1e9))
      .note(fmt::format("{:.1f} GB x (1 - {:.2f}) = {:.1f} GB", i.memory.in_use() / 1e9, i.memory_error,
                        i.memory.in_use() * (1 - i.memory_error) / 1e9))
      .hint("what frees memory makes it certain: `--recompute full`, a smaller `--micro-batch`, more ZeRO");
}

// What sets a run apart from those that were measured, in words.
std::vector<std::string> strange(const Setting& setting, const TrainedModel& trained) {
  std::vector<std::string> out;
  if (cluster::needed(trained.model, trained.plan, trained.plan.stack.lacks) != 0)
    out.push_back("its software does not run this plan");
  if (trained.plan.lora_rank > 0) out.push_back("no run that trains adapters was measured");
  if (cluster::frozen_bytes(trained.plan, 2) < 2 && trained.plan.lora_rank > 0)
    out.push_back("no run with frozen weights in so few bits was measured");
  if (trained.plan.capacity_factor > 0) out.push_back("no run with experts of a capacity was measured");
  if (std::any_of(trained.model.kinds.begin(), trained.model.kinds.end(),
                  [](const cluster::LayerKind& kind) { return kind.scan.heads > 0; }))
    out.push_back("no run of a model with scans was measured");
  if (!setting.changed.empty()) out.push_back(fmt::format("no run with another `{}` was measured", setting.changed));
  return out;
}

// Software whose own runs nobody compared with what is measured of its kin. torchtitan's, torchtune's and AutoModel's
// were (docs/model/cluster.md, given runs).
bool compared_by_kin_alone(cluster::StackName stack) {
  using enum cluster::StackName;
  return stack != cluster::kin(stack) && stack != kTorchtitan && stack != kTorchtune && stack != kAutomodel;
}

// How far off the prediction may be, or why nobody knows.
void say_expected_error(const Setting& setting, TrainedModel& trained) {
  if (trained.operators != "roofline") {
    trained.expected_error_of =
        "measured runs were predicted by the roofline, which does not price the operators of this one";
    return;
  }
  if (setting.array) {
    trained.expected_error_of = "no run with an array for attention was measured";
    return;
  }
  std::vector<std::string> apart = strange(setting, trained);
  const cluster::StackName stack = trained.plan.stack.name;
  const std::vector<KindError> kinds = read_error_kinds(catalogue_directory());
  RunKind kind = kind_of(trained.model, trained.system, trained.plan);
  const auto known = [&](const KindError& one) { return one.kind.stack == kind.stack; };
  if (std::none_of(kinds.begin(), kinds.end(), known)) {
    kind.stack = cluster::name_of(cluster::kin(stack), cluster::stacks());
    if (compared_by_kin_alone(stack) && std::any_of(kinds.begin(), kinds.end(), [&](const KindError& one) {
          return known(one) && one.kind.accelerator == kind.accelerator;
        }))
      apart.push_back(fmt::format("no run of {} itself was measured", cluster::name_of(stack, cluster::stacks())));
  }
  const RunSizes sizes = sizes_of(trained.model, trained.plan);
  if (chosen_for_time(trained)) {
    const std::string name = cluster::name_of(stack, cluster::stacks());
    // Published recipes are of runs near those that were measured.
    if (apart.empty() && expected_error(kinds, kind, sizes))
      trained.optimum_error = read_optimum_error(catalogue_directory(), name);
    if (trained.optimum_error) {
      trained.expected_error_of =
          fmt::format("best plans beside {} published recipes of {}", trained.optimum_error->recipes, name);
      return;
    }
    apart.push_back("the best of a search errs otherwise than plans that are given");
  }
  trained.expected_error = widened_error(kinds, kind, sizes, apart);
  if (trained.expected_error) trained.expected_error_of = trained.expected_error->of;
}

}  // namespace

TrainedModel train(const TrainRequest& asked) {
  Setting setting;
  read_setting(asked, setting);
  choose_plan(setting);
  const TrainRequest& request = setting.request;
  const base::Limits& limits = setting.limits;
  SystemChip* chip = setting.machine.chip.get();
  TrainedModel trained = std::move(setting.trained);
  const TrainOperators operators(request, trained, chip, setting.here ? &*setting.here : nullptr, limits,
                                 setting.products, setting.array);
  trained.operators = operators.name();
  cluster::OperatorUses uses;
  // What is one operator where it takes less than its products is known once those are.
  if (request.fuse && operators.nests() != nullptr)
    search_products(*operators.nests(), cluster::operators_of(trained.model, trained.system, trained.plan), request);
  if (chip != nullptr || request.by_operator)
    uses = cluster::operators_of(trained.model, trained.system, trained.plan, &operators.model());
  if (operators.nests() != nullptr) search_products(*operators.nests(), uses, request);
  trained.iteration = cluster::evaluate(trained.model, trained.system, trained.plan, operators.model());
  if (!uses.empty()) list_operators(operators, uses, limits, trained);
  if (request.fuse) {
    trained.fused = fused_attention(trained.model, trained.system, trained.plan, operators.model(), *operators.nests(),
                                    trained.listed);
    add_inputs(chip->inputs(), trained);
  }
  // Pruned attention counts as the dense one that it replaces.
  if (!setting.array) check_utilisation(trained, setting.measurements);
  say_expected_error(setting, trained);
  warn_of_uncertain_memory(trained);
  trained.host_share =
      host_share(trained.model, trained.system, trained.plan, trained.iteration.iteration_s, operators.model());
  trained.parameters = cluster::parameters(trained.model);
  trained.active_parameters = cluster::parameters(trained.model, true);
  find_usual(operators.model(), trained);
  if (request.plans.beside) find_published(request, trained);
  if (trained.tokens > 0) trained.training_s = cluster::seconds_to_train(trained.iteration, trained.tokens);
  return trained;
}

EvaluatedRows evaluate_plan_rows(const TrainRequest& asked, const PlanRowsInput& input,
                                 const std::function<void(const std::string&)>& write) {
  Setting setting;
  TrainRequest request = asked;
  if (!request.global_batch) request.global_batch = 1;  // a column may say it
  read_setting(request, setting);
  if (asked.global_batch) setting.set.insert("global_batch");
  for (const auto& [given, field] :
       {std::pair{asked.gpus.has_value(), "gpus"}, std::pair{asked.dp.has_value(), "dp"},
        std::pair{asked.interleave.has_value() || asked.schedule.has_value(), "interleave"}})
    if (given) setting.set.insert(field);
  const TrainOperators operators(setting.request, setting.trained, setting.machine.chip.get(),
                                 setting.here ? &*setting.here : nullptr, setting.limits, setting.products,
                                 setting.array);
  RowSetting shared{setting.trained.model, setting.trained.system, operators.model(), setting.trained.plan,
                    setting.set,           setting.limits,         std::nullopt};
  if (!setting.trained.stack_given) shared.of_zero_3 = of_zero_3(catalogue_directory(), shared.plan.stack);
  EvaluatedRows rows = evaluate_rows(shared, input, write);
  rows.problems.insert(rows.problems.begin(), setting.trained.warnings.all().begin(),
                       setting.trained.warnings.all().end());
  return rows;
}

}  // namespace orrery::verbs
