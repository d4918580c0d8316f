#include "orrery/verbs/prune/study/report.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> last_loss(const StudyVariant& v) {
  return v.losses.empty() ? std::nullopt : finite(v.losses.back());
}

}  // namespace

Document<SparseStudy> sparse_study_document() {
  using S = SparseStudy;
  using V = StudyVariant;
  const Record<TaskMetric> metric = {
      {"name", "As the task's own scripts call it; `combined`: their mean; `_mm`: of the mismatched set.",
       &TaskMetric::name},
      {"value", "Null where it is not defined.", [](const TaskMetric& m) { return finite(m.value); }}};
  const Record<V> variant = {{"name", "dense, dynamic (a predicted mask) or static.", &V::name},
                             {"rule", "What is kept, in words.", &V::rule},
                             {"folder", "The model that was trained.", &V::folder},
                             {"steps", "That it learned.", &V::steps},
                             {"loss", "Of the last one; null where none was left.", last_loss},
                             {"losses", "Of each step of this run, not of those before `--resume`.", &V::losses},
                             {"metrics", "On the held-out sets; empty where time ended before.", &V::metrics, metric},
                             {"density", "Of the masks of evaluation; null: dense.", &V::density},
                             {"load_balance", "25%-skip, the mean of all masks; null: dense.", &V::load_balance},
                             {"train_seconds", "Measured.", &V::train_seconds},
                             {"eval_seconds", "Measured.", &V::eval_seconds}};
  const Record<S> result = {
      {"task", "As asked for.", [](const S& s) { return s.task.name; }},
      {"model", "The folder that training began with.", &S::model},
      {"texts", "Rows of the training set.", &S::texts},
      {"held", "Rows of the held-out sets.", &S::held},
      {"complete", "False: a limit or an interrupt ended it early.", [](const S& s) { return !s.ended_early; }},
      {"variants", "One by one.", &S::variants, variant}};
  return {"sparse_study", "Of the task.", result};
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
