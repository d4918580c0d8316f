#include "orrery/model/trainer.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/stopwatch.h"
#include "orrery/base/whole_number.h"

namespace orrery::model {
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
  const double batches = epochs * static_cast<double>(batches_in_epoch(examples, plan.batch));
  return base::saturated(std::ceil(batches / static_cast<double>(plan.accumulate)));
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
  const auto each = static_cast<double>(plan_.accumulate);
  for (std::size_t part = 0; part < plan_.accumulate; ++part) {
    const std::int64_t number =
        state_.steps * static_cast<std::int64_t>(plan_.accumulate) + static_cast<std::int64_t>(part);
    const std::uint64_t seed = plan_.seed + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(number) + 1);
    const LabelledBatch labelled = batch_of(
        examples_, chosen_examples(examples_.size(), plan_.batch, number, plan_.seed), description_, rules_, seed);
    Parameters& to = part == 0 ? gradients_ : part_;
    report.loss += network_.learn(labelled.batch, labelled.labels, seed, 1 / each, to) / each;
    if (part > 0) add(gradients_, part_);
  }
  const std::vector<Parameter> slopes = list(gradients_, description_);
  report.norm = clip(context_, slopes, plan_.clip);
  adamw_step(context_, list(parameters_, description_), slopes, plan_.optimiser, report.rate, state_);
  network_.update();
  report.step = state_.steps;
  report.seconds = clock.seconds();
  return report;
}

}  // namespace orrery::model
