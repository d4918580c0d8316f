#include "orrery/verbs/validate/table.h"

#include <fmt/format.h>

#include "orrery/present/text_table.h"
#include "orrery/verbs/validate/error_groups.h"
#include "orrery/verbs/validate/error_summary_text.h"

namespace orrery::verbs {
std::string short_plan(const cluster::Plan& plan) {
  std::string text = fmt::format("t{} p{} d{} b{}", plan.tp, plan.pp, plan.dp, plan.micro_batch);
  if (plan.cp > 1) text += fmt::format(" c{}", plan.cp);
  if (plan.ep > 1) text += fmt::format(" e{}", plan.ep);
  if (plan.interleave > 1) text += fmt::format(" v{}", plan.interleave);
  if (plan.recompute == cluster::Recompute::kFull) text += " full";
  if (plan.recompute == cluster::Recompute::kSelective) text += " selective";
  if (plan.sequence_parallel) text += " sp";
  if (plan.zero > 0) text += fmt::format(" zero{}", plan.zero);
  return text;
}

std::string validation_summary(const std::vector<ValidatedSet>& sets) {
  Table table;
  table.header = {"set",    "held out",   "mean |e| %", "median",   "bias",   "worst",
                  "fitted", "mean |e| %", "constant %", "Calculon", "memory", "refused"};
  for (const ValidatedSet& set : sets) {
    const ErrorSummary& held = set.held_out;
    std::vector<std::string> row = {set.name, std::to_string(held.points)};
    if (held.points > 0)
      row.insert(row.end(), {plain_percent(held.mean_absolute), plain_percent(held.median_absolute),
                             signed_percent(held.bias), plain_percent(held.worst)});
    else
      row.insert(row.end(), 4, "-");
    row.push_back(std::to_string(set.fitted.points));
    row.push_back(set.fitted.points > 0 ? plain_percent(set.fitted.mean_absolute) : "-");
    row.push_back(held.points > 0 ? plain_percent(set.constant.mean_absolute) : "-");
    row.push_back(set.calculon.empty() ? "-" : set.calculon);
    row.push_back(set.memory.points > 0 ? plain_percent(set.memory.mean_absolute) : "-");
    row.push_back(std::to_string(set.refused));
    table.rows.push_back(std::move(row));
  }
  return text(table);
}

std::string validation_groups(const std::vector<ValidatedSet>& sets) {
  Table table;
  table.header = {"by", "", "runs", "mean |e| %", "median", "bias", "worst", "constant %"};
  table.left_columns = {0, 1};
  for (const ErrorGroup& group : error_groups(sets))
    table.rows.push_back({group.by, group.name, std::to_string(group.errors.points),
                          plain_percent(group.errors.mean_absolute), plain_percent(group.errors.median_absolute),
                          signed_percent(group.errors.bias), plain_percent(group.errors.worst),
                          plain_percent(group.constant.mean_absolute)});
  return text(table);
}

std::string validation_points(const ValidatedSet& set, std::size_t most) {
  Table table;
  table.header = {"error %", "measured", "predicted", "measure", "row", "use", "model", "accelerators", "plan"};
  table.left_columns = {3, 4, 5, 6, 8};
  const std::size_t shown = most == 0 ? set.points.size() : std::min(most, set.points.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ValidatedPoint& point = set.points[i];
    table.rows.push_back({signed_percent(point.error), fmt::format("{:.5g}", point.run.value),
                          fmt::format("{:.5g}", point.predicted), std::string(verbs::name(point.run.measure)),
                          point.run.row, std::string(verbs::name(point.run.use)), point.run.model_name,
                          std::to_string(point.run.plan.gpus), short_plan(point.run.plan)});
  }
  std::string result = fmt::format("{}\n{}", set.title, text(table));
  if (shown < set.points.size())
    result += fmt::format("... and {} nearer ones (--all shows them)\n", set.points.size() - shown);
  for (std::size_t i = 0; i < shown; ++i)
    if (!set.points[i].run.note.empty())
      result += fmt::format("note on {}: {}\n", set.points[i].run.row, set.points[i].run.note);
  return result;
}

}  // namespace orrery::verbs
