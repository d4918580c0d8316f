// Each variant begins from the same checkpoint, with the same order of examples and the same seed; what differs is
// which scores attention computes, in training and in evaluation.
#include "orrery/verbs/sparse/study/run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/inputs/networks/trained_checkpoint.h"

namespace orrery::verbs {
namespace {

PruningRequest pruning_of(const SparseStudyRequest& request, const StudyTask& task, const std::string& variant) {
  PruningRequest out = request.texts.pruning;
  out.config = "none";
  if (variant == "static") out.pattern = request.pattern;
  if (variant != "dynamic") return out;
  if (!request.config.empty()) {
    out.config = request.config;
  } else {
    out.predictor.emplace();
    out.predictor->threshold = request.threshold.value_or(task.threshold);
  }
  return out;
}

TextRequest texts_of(const SparseStudyRequest& request, const StudyTask& task, const StudyData& data,
                     const std::string& variant) {
  TextRequest out = request.texts;
  out.task = task.task;
  out.columns = data.columns;
  out.usual_tokens = static_cast<std::size_t>(task.tokens);
  out.pruning = pruning_of(request, task, variant);
  return out;
}

// The metrics that the task is judged by, and their mean where there are several.
void add_metrics(const StudyTask& task, const HeldRows& held, const Evaluated& answer, std::vector<TaskMetric>& to) {
  double sum = 0;
  for (const std::string& name : task.metrics) {
    const auto found = std::find_if(answer.metrics.begin(), answer.metrics.end(),
                                    [&](const TaskMetric& metric) { return metric.name == name; });
    to.push_back({name + held.suffix, found->value});
    sum += found->value;
  }
  if (task.metrics.size() > 1) to.push_back({"combined" + held.suffix, sum / static_cast<double>(task.metrics.size())});
}

// What is wrong with a rule is said before anything is learned.
void check_rules(const SparseStudyRequest& request, const StudyTask& task) {
  for (const std::string& name : request.variants) {
    if (name == "dense") continue;
    CheckpointModel model = open_checkpoint(request.texts.checkpoint, {network::HeadKind::kNone, {}},
                                            request.texts.type, request.texts.seed);
    open_pruning(pruning_of(request, task, name), model, Unclipped::kLearn);
  }
}

void once(const base::Diagnostics& more, base::Diagnostics& to) {
  for (const base::Diagnostic& one : more.all()) {
    const auto same = [&](const base::Diagnostic& known) {
      return known.code == one.code && known.message == one.message;
    };
    if (std::none_of(to.all().begin(), to.all().end(), same)) to.warning(one.code, one.message, one.primary.where);
  }
}

}  // namespace

SparseStudy sparse_study(const SparseStudyRequest& request) {
  SparseStudy out;
  out.task = study_task(request.task);
  const StudyTask& task = out.task;
  out.model = request.texts.checkpoint;
  const StudyData data = read_study_data(task, request.data, out.warnings);
  out.texts = static_cast<base::Count>(data.train->rows.size());
  for (const HeldRows& held : data.held) out.held += static_cast<base::Count>(held.rows->rows.size());
  check_rules(request, task);
  const base::Stopwatch whole;
  // What is left of the time, of which each run is given all.
  const auto left = [&] {
    base::Limits limits = request.texts.limits;
    if (limits.seconds > 0) limits.seconds = std::max(1e-6, limits.seconds - whole.seconds());
    return limits;
  };
  for (const std::string& name : request.variants) {
    if (out.ended_early) break;
    StudyVariant& variant = out.variants.emplace_back();
    variant.name = name;
    variant.folder = (std::filesystem::path(request.output) / name).string();
    TrainTextsRequest training;
    training.texts = texts_of(request, task, data, name);
    training.texts.rows = data.train;
    training.texts.batch = request.texts.batch.value_or(task.batch);
    training.texts.limits = left();
    training.output = variant.folder;
    training.plan.accumulate = static_cast<std::size_t>(request.accumulate.value_or(task.accumulate));
    training.plan.first_at_once = task.first_at_once;
    training.plan.clip = task.clip;
    training.plan.optimiser.rate = request.rate.value_or(task.rate);
    training.plan.optimiser.decay = 0;
    training.epochs = request.epochs.value_or(task.epochs);
    training.steps = request.steps;
    training.resume = request.resume && has_state(variant.folder);
    if (request.told)
      training.told = [&](const network::StepReport& step, std::int64_t of, double) { request.told(name, step, of); };
    const TrainedTexts trained = train_task(training);
    out.inputs.insert(out.inputs.end(), trained.inputs.begin(), trained.inputs.end());
    once(trained.warnings, out.warnings);
    variant.rule = trained.attention;
    variant.steps = trained.steps;
    variant.train_seconds = trained.seconds;
    for (const network::StepReport& step : trained.history) variant.losses.push_back(step.loss);
    out.ended_early = trained.ended_early;
    if (out.ended_early) break;
    std::vector<masks::Measured> masks;
    for (const HeldRows& held : data.held) {
      TextRequest asked = texts_of(request, task, data, name);
      asked.checkpoint = variant.folder;
      if (name == "dynamic") asked.pruning.config.clear(), asked.pruning.predictor.reset();  // as it was trained
      asked.rows = held.rows;
      asked.batch = request.texts.batch;
      asked.limits = left();
      const Evaluated answer = evaluate_task(asked);
      once(answer.warnings, out.warnings);
      variant.eval_seconds += answer.seconds;
      out.ended_early = out.ended_early || answer.ended_early;
      add_metrics(task, held, answer, variant.metrics);
      if (answer.pruned) masks.insert(masks.end(), answer.pruned->masks.begin(), answer.pruned->masks.end());
    }
    if (masks.empty()) continue;
    const masks::Measured mean = masks::mean_of(masks);
    variant.density = mean.pairs > 0 ? static_cast<double>(mean.kept) / static_cast<double>(mean.pairs) : 0;
    variant.load_balance = mean.load_balance[3];
  }
  std::sort(out.inputs.begin(), out.inputs.end());
  out.inputs.erase(std::unique(out.inputs.begin(), out.inputs.end()), out.inputs.end());
  return out;
}

}  // namespace orrery::verbs
