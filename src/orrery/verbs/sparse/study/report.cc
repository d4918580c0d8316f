#include "orrery/verbs/sparse/study/report.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::optional<double> study_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> last_loss(const StudyVariant& v) {
  return v.losses.empty() ? std::nullopt : study_finite(v.losses.back());
}

}  // namespace

Document<SparseStudy> sparse_study_document() {
  using S = SparseStudy;
  using V = StudyVariant;
  const Record<TaskMetric> metric = {
      {"name",
       "Name of the metric, as the task's own scripts call it; `combined`: their mean; `_mm`: of the mismatched set.",
       &TaskMetric::name},
      {"value", "Value of the metric; null where it is not defined.",
       [](const TaskMetric& m) { return study_finite(m.value); }}};
  const Record<V> variant = {
      {"name", "Kind of attention: dense, dynamic (a predicted mask) or static.", &V::name},
      {"rule", "Which pairs are kept, in words.", &V::rule},
      {"folder", "Folder of the trained model.", &V::folder},
      {"steps", "Steps that the model learned.", &V::steps},
      {"loss", "Loss of the last step; null where no step was left to do.", last_loss},
      {"losses", "Loss of each step of this run, not of those before `--resume`.", &V::losses},
      {"metrics", "Metrics on the held-out sets; empty where time ran out before.", &V::metrics, metric},
      {"density", "Kept pairs over pairs of existing tokens in the evaluation, 0 to 1; null: dense.", &V::density},
      {"load_balance", "Load balance `25%-skip`, the mean of all masks; null: dense.", &V::load_balance},
      {"train_seconds", "Time of training, measured, in seconds.", &V::train_seconds},
      {"eval_seconds", "Time of evaluation, measured, in seconds.", &V::eval_seconds}};
  const Record<S> result = {
      {"task", "Name of the task.", [](const S& s) { return s.task.name; }},
      {"model", "Folder of the model that training began with.", &S::model},
      {"texts", "Rows of the training set.", &S::texts},
      {"held", "Rows of the held-out sets.", &S::held},
      {"complete", "False: a limit or an interrupt ended it early.", [](const S& s) { return !s.ended_early; }},
      {"variants", "Results of each kind of attention.", &S::variants, variant}};
  return {"sparse_study", "The task, learned and judged with each kind of attention.", result};
}

std::string sparse_study_table(const SparseStudy& answer) {
  std::string out = fmt::format("{} on {}: {} rows to learn, {} held out\n\n", answer.task.name, answer.model,
                                answer.texts, answer.held);
  Table table;
  table.header = {"attention", "steps", "loss"};
  std::vector<std::string> names;
  for (const StudyVariant& variant : answer.variants)
    if (names.empty())
      for (const TaskMetric& metric : variant.metrics) names.push_back(metric.name);
  table.header.insert(table.header.end(), names.begin(), names.end());
  for (const char* const name : {"density %", "25%-skip", "train s", "eval s"}) table.header.emplace_back(name);
  for (const StudyVariant& variant : answer.variants) {
    const std::optional<double> loss = last_loss(variant);
    std::vector<std::string> cells = {variant.name, fmt::format("{}", variant.steps),
                                      loss ? fmt::format("{:.4f}", *loss) : "-"};
    for (std::size_t i = 0; i < names.size(); ++i)
      cells.push_back(i < variant.metrics.size() && std::isfinite(variant.metrics[i].value)
                          ? fmt::format("{:.4f}", variant.metrics[i].value)
                          : "-");
    cells.push_back(variant.density ? percent(*variant.density) : "-");
    cells.push_back(variant.load_balance ? fmt::format("{:.4f}", *variant.load_balance) : "-");
    cells.push_back(fmt::format("{:.1f}", variant.train_seconds));
    cells.push_back(fmt::format("{:.1f}", variant.eval_seconds));
    table.rows.push_back(std::move(cells));
  }
  out += text(table) + "\n";
  for (const StudyVariant& variant : answer.variants)
    if (variant.rule != "dense" && !variant.rule.empty()) out += fmt::format("{:<13} {}\n", variant.name, variant.rule);
  if (answer.ended_early) out += "the same command with --resume goes on\n";
  return out;
}

}  // namespace orrery::verbs
