#include "orrery/verbs/validate/optima_table.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/validate/table.h"

namespace orrery::verbs {

std::string optima_table(const FoundOptima& found) {
  Table table;
  table.header = {"best / measured", "measured", "recipe predicted", "best found", "model",  "system",
                  "accelerators",    "batch",    "precision",        "its plan",   "recipe", "set"};
  table.left_columns = {4, 5, 8, 9, 10, 11};
  for (const FoundOptimum& each : found.recipes) {
    const MeasuredRun& run = each.recipe;
    table.rows.push_back({fmt::format("{:.2f}", each.ratio()), shown_seconds(each.measured_s),
                          shown_seconds(each.predicted_s), shown_seconds(each.best.iteration.iteration_s),
                          run.model_name, run.system_name, std::to_string(run.plan.gpus),
                          std::to_string(run.plan.global_batch), std::string(machine::name(run.plan.precision)),
                          short_plan(each.best.plan), short_plan(run.plan), each.set});
  }
  std::string out = text(table) + "\nspeed of the best plan that a search finds over what the recipe measured\n";
  for (const SoftwareOptima& of : found.by_stack)
    out += fmt::format("{}: {} recipes, median x{:.2f}, two of three from x{:.2f} to x{:.2f}\n", of.stack,
                       of.error.recipes, of.error.median, of.error.least, of.error.most);
  return out;
}

Document<FoundOptima> validate_optima_document() {
  using F = FoundOptimum;
  const Record<F> recipe = {
      {"set", "Table of the recipe.", &F::set},
      {"row", "Row of the table.", [](const F& f) { return f.recipe.row; }},
      {"model", "Name of the model.", [](const F& f) { return f.recipe.model_name; }},
      {"system", "Name of the system.", [](const F& f) { return f.recipe.system_name; }},
      {"gpus", "Number of accelerators.", [](const F& f) { return f.recipe.plan.gpus; }},
      {"global_batch", "Sequences of one iteration.", [](const F& f) { return f.recipe.plan.global_batch; }},
      {"precision", "Precision of products.", [](const F& f) { return machine::name(f.recipe.plan.precision); }},
      {"measured_s", "Measured time of an iteration by the recipe, in seconds.", &F::measured_s},
      {"predicted_s", "Predicted time of an iteration by the recipe, in seconds.", &F::predicted_s},
      {"best_s", "Predicted time of an iteration by the best plan, in seconds.",
       [](const F& f) { return f.best.iteration.iteration_s; }},
      {"ratio", "`measured_s` over `best_s`.", &F::ratio},
      {"best", "The best plan, in short.", [](const F& f) { return short_plan(f.best.plan); }},
      {"recipe", "The recipe, in short.", [](const F& f) { return short_plan(f.recipe.plan); }},
      {"gap", "Proven bound on how much better a plan can be; 0: none is.", &F::gap}};
  using S = SoftwareOptima;
  const Record<S> software = {
      {"stack", "Name of the software.", &S::stack},
      {"recipes", "Number of recipes.", [](const S& s) { return s.error.recipes; }},
      {"least", "Two of three ratios are at least this.", [](const S& s) { return s.error.least; }},
      {"median", "Median ratio.", [](const S& s) { return s.error.median; }},
      {"most", "Two of three ratios are at most this.", [](const S& s) { return s.error.most; }}};
  return {
      "validate_optima", "Best plans beside published recipes.",
      Record<FoundOptima>{{"recipes", "Published recipes, the greatest ratio first.", &FoundOptima::recipes, recipe},
                          {"software", "Ratios by software.", &FoundOptima::by_stack, software}}};
}

}  // namespace orrery::verbs
