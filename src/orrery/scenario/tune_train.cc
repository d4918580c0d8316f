// Fine-tuning: the checkpoint's model on a file's texts, step by step, then the folder that it leaves. The state beside
// the weights (moments, steps) makes training that goes on give the same bits: order, masks and dropout follow from the
// seed and the step's number.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/stopwatch.h"
#include "orrery/base/text_file.h"
#include "orrery/base/whole_number.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/scenario/task_head.h"
#include "orrery/scenario/text_run.h"
#include "orrery/scenario/trained_checkpoint.h"
#include "orrery/scenario/tune_texts.h"

namespace orrery::scenario {
namespace {

constexpr std::size_t kLearnedTokens = 128, kLearnedOfQuestions = 384;

model::TrainingPlan plan_of(const TrainTextsRequest& request, std::size_t examples) {
  model::TrainingPlan plan = request.plan;
  plan.batch = static_cast<std::size_t>(request.texts.batch.value_or(32));
  plan.seed = request.texts.seed;
  plan.steps = request.steps.value_or(model::steps_of(plan, examples, request.epochs));
  plan.warmup = request.warmup ? *request.warmup
                               : base::saturated(request.warmup_share.value_or(0) * static_cast<double>(plan.steps));
  return plan;
}

}  // namespace

TrainedTexts tune_train(const TrainTextsRequest& asked) {
  TrainTextsRequest request = asked;
  cost::Limits limits = request.texts.limits;
  const TextRows rows = read_text_rows(request.texts.data);
  // What is resumed is read from where it was stored; the head is there then.
  const std::string source = request.texts.checkpoint;
  if (request.resume) {
    if (!has_state(request.output))
      base::fail("O1655", fmt::format("`{}` holds no state to go on from", request.output), {},
                 "train without --resume, or name the folder of the run that was interrupted");
    request.texts.checkpoint = request.output;
  }
  TaskModel task = open_task(request.texts, rows, true);
  CheckpointModel& made = task.model;
  const model::Description& d = made.runnable.description;
  const std::size_t most =
      made.tokens_of(request.texts.most_tokens, task.task == Task::kQuestions ? kLearnedOfQuestions : kLearnedTokens);
  const TaskExamples texts = task_examples(rows, task.task, request.texts.columns, made, most,
                                           static_cast<std::size_t>(request.texts.stride), task.labels);
  const model::TrainingPlan plan = plan_of(request, texts.examples.size());

  TrainedTexts out;
  out.model = source, out.task = name_of(task.task), out.output = request.output;
  out.texts = rows.rows.size(), out.examples = texts.examples.size(), out.cut = texts.cut;
  out.of = plan.steps;
  out.fresh = made.fresh;

  if (request.texts.interruptible) limits.stop = request.texts.interruptible();
  const cost::Budget budget(limits);
  kernels::Context context(limits.threads);
  model::Trainer trainer(context, d, made.parameters, texts.examples, made.rules, plan);
  const RunIdentity run = run_identity(plan, texts.examples, out.task, request.texts.type);
  if (request.resume) {
    trainer.resume(read_state(request.output, made.parameters, d, run));
    out.resumed_at = trainer.state().steps;
  }
  const auto save = [&] { store(request.output, source, made, task.task, task.labels, trainer.state(), run); };
  make_output(request.output);
  const base::Stopwatch steps_clock;
  while (!trainer.done()) {
    if (budget.spent()) {
      out.ended_early = true;
      break;
    }
    const model::StepReport step = trainer.step();
    out.history.push_back(step);
    if (!std::isfinite(step.loss))
      base::fail("O1658", fmt::format("the loss of step {} is {}: training has diverged", step.step, step.loss), {},
                 "take a smaller --rate, or --dtype fp32");
    const double each = steps_clock.seconds() / static_cast<double>(out.history.size());
    if (request.told) request.told(step, plan.steps, each * static_cast<double>(plan.steps - step.step));
    if (request.save_every > 0 && step.step % request.save_every == 0 && !trainer.done()) save();
  }
  out.seconds = steps_clock.seconds();
  out.steps = trainer.state().steps;
  save();
  out.inputs = made.inputs;
  out.warnings = made.warnings;
  warn_of_cut(texts.cut, most, out.warnings);
  return out;
}

}  // namespace orrery::scenario
