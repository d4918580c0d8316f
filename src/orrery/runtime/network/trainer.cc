#include "orrery/runtime/network/trainer.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::network {
namespace {

Index longest(const std::vector<Example>& examples) {
  std::size_t length = 1;
  for (const Example& example : examples) length = std::max(length, example.words.size());
  return static_cast<Index>(length);
}

Network::Size size_of(const std::vector<Example>& examples, const TrainingPlan& plan) {
  const Index length = longest(examples);
  return {static_cast<Index>(std::min(plan.batch, examples.size())), length, length};
}

}  // namespace

std::int64_t steps_of(const TrainingPlan& plan, std::size_t examples, double epochs) {
  const auto in_epoch = static_cast<double>(batches_in_epoch(examples, plan.batch));
  const auto steps = [&](double batches) { return std::ceil(batches / static_cast<double>(plan.accumulate)); };
  if (!plan.first_at_once) return base::saturated(steps(epochs * in_epoch));
  const double whole = std::floor(epochs);
  return base::saturated(whole * steps(in_epoch) + steps((epochs - whole) * in_epoch));
}

StepBatches batches_of(const TrainingPlan& plan, std::size_t examples, std::int64_t step) {
  const auto each = static_cast<std::int64_t>(plan.accumulate);
  if (!plan.first_at_once) return {step * each, (step + 1) * each};
  const std::int64_t in_epoch = batches_in_epoch(examples, plan.batch), steps = (in_epoch + each - 1) / each;
  const auto end = [&](std::int64_t s) { return s / steps * in_epoch + s % steps * each + 1; };
  return {step == 0 ? 0 : end(step - 1), end(step)};
}

Trainer::Trainer(kernels::Context& context, const Description& description, Parameters& parameters,
                 const std::vector<Example>& examples, const BatchRules& rules, const TrainingPlan& plan)
    : context_(context),
      description_(description),
      parameters_(parameters),
      examples_(examples),
      rules_(rules),
      plan_(plan),
      network_(context, description, parameters, size_of(examples, plan), true),
      gradients_(description),
      part_(plan.accumulate > 1 ? Parameters(description) : Parameters(Description{})) {}

StepReport Trainer::step() {
  const base::Stopwatch clock;
  StepReport report;
  report.rate = linear_rate(plan_.optimiser.rate, state_.steps, plan_.warmup, plan_.steps);
  const StepBatches batches = batches_of(plan_, examples_.size(), state_.steps);
  const auto each = static_cast<double>(batches.end - batches.begin);
  for (std::int64_t number = batches.begin; number < batches.end; ++number) {
    const std::uint64_t seed = plan_.seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(number) + 1);
    const LabelledBatch labelled = batch_of(
        examples_, chosen_examples(examples_.size(), plan_.batch, number, plan_.seed), description_, rules_, seed);
    Parameters& to = number == batches.begin ? gradients_ : part_;
    report.loss += network_.learn(labelled.batch, labelled.labels, seed, plan_.first_at_once ? 1 : 1 / each, to) / each;
    if (number > batches.begin) add(gradients_, part_);
  }
  const std::vector<Parameter> slopes = list(gradients_, description_);
  report.norm = clip(context_, slopes, plan_.clip);
  adamw_step(context_, list(parameters_, description_), slopes, plan_.optimiser, report.rate, state_);
  network_.update();
  report.step = state_.steps;
  report.seconds = clock.seconds();
  return report;
}

}  // namespace orrery::network
