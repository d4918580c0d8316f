// Fine-tuning: the checkpoint's model on a file's texts, step by step, then the folder that it leaves. The state beside
// the weights (moments, steps) makes training that goes on give the same bits: order, masks and dropout follow from the
// seed and the step's number; clip thresholds of pruned attention are stored with the weights.
#include "orrery/inputs/networks/task_training.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/inputs/networks/stored_clips.h"
#include "orrery/inputs/networks/task_head.h"
#include "orrery/inputs/networks/text_run.h"
#include "orrery/inputs/networks/trained_checkpoint.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kLearnedTokens = 128, kLearnedOfQuestions = 384;

network::TrainingPlan plan_of(const TrainTextsRequest& request, std::size_t examples) {
  network::TrainingPlan plan = request.plan;
  plan.batch = static_cast<std::size_t>(request.texts.batch.value_or(32));
  plan.seed = request.texts.seed;
  plan.steps = request.steps.value_or(network::steps_of(plan, examples, request.epochs));
  plan.warmup = request.warmup ? *request.warmup
                               : base::saturated(request.warmup_share.value_or(0) * static_cast<double>(plan.steps));
  return plan;
}

}  // namespace

TrainedTexts train_task(const TrainTextsRequest& asked) {
  TrainTextsRequest request = asked;
  base::Limits limits = request.texts.limits;
  const std::shared_ptr<const TextRows> read = rows_of(request.texts);
  const TextRows& rows = *read;
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
  PrunedModel pruned = open_pruning(request.texts.pruning, made, Unclipped::kLearn);
  const network::Description& d = made.runnable.description;
  const std::size_t usual = task.task == Task::kQuestions ? kLearnedOfQuestions : kLearnedTokens;
  const std::size_t most = made.tokens_of(request.texts.most_tokens, request.texts.usual_tokens.value_or(usual));
  const TaskExamples texts = task_examples(rows, task.task, request.texts.columns, made, most,
                                           static_cast<std::size_t>(request.texts.stride), task.labels);
  const network::TrainingPlan plan = plan_of(request, texts.examples.size());

  TrainedTexts out;
  out.model = source, out.task = name_of(task.task), out.output = request.output;
  out.texts = rows.rows.size(), out.examples = texts.examples.size(), out.cut = texts.cut;
  out.of = plan.steps;
  out.fresh = made.fresh;

  if (request.texts.interruptible) limits.stop = request.texts.interruptible();
  const base::Budget budget(limits);
  kernels::Context context(limits.threads);
  network::Trainer trainer(context, d, made.parameters, texts.examples, made.rules, plan);
  if (pruned.prunes()) {
    check_masks(size_of(texts.examples, plan.batch), d);
    pruned.network->attach(trainer.network());
    pruned.network->set_mode(masks::Mode::kLearn);
  }
  out.attention = pruned.rule;
  // With attention as it is, what a run is does not depend on that.
  const RunIdentity run = run_identity(
      plan, texts.examples, pruned.identity.empty() ? out.task : out.task + ", attention: " + pruned.identity,
      request.texts.type);
  if (request.resume) {
    trainer.resume(read_state(request.output, made.parameters, d, run));
    out.resumed_at = trainer.state().steps;
  }
  const auto save = [&] {
    store_clips(pruned, made);
    store(request.output, source, made, task.task, task.labels, trainer.state(), run);
  };
  make_output(request.output);
  const base::Stopwatch steps_clock;
  while (!trainer.done()) {
    if (budget.spent()) {
      out.ended_early = true;
      break;
    }
    const network::StepReport step = trainer.step();
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

}  // namespace orrery::verbs
