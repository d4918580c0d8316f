// Training, a step at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/runtime/network/adamw.h"
#include "orrery/runtime/network/examples.h"

namespace orrery::network {

struct TrainingPlan {
  std::size_t batch = 32;
  std::size_t accumulate = 1;  // batches a step
  // A step behind an epoch's batches 0, accumulate, 2 accumulate, ..., of the sum of the gradients since the one
  // before, not of their mean (Sanger's script for CLOTH); what an epoch leaves over goes into the next one's first.
  bool first_at_once = false;
  std::int64_t steps = 0;
  std::int64_t warmup = 0;
  double clip = 1;  // the most that the norm of the gradients may be; 0: any
  std::uint64_t seed = 0;
  AdamWOptions optimiser;
};

// How many steps so many epochs take.
std::int64_t steps_of(const TrainingPlan& plan, std::size_t examples, double epochs);

// The batches [begin, end) that a step takes, numbered from the first one of training on.
struct StepBatches {
  std::int64_t begin = 0, end = 0;
};
StepBatches batches_of(const TrainingPlan& plan, std::size_t examples, std::int64_t step);

struct StepReport {
  std::int64_t step = 0;  // from 1
  double loss = 0, rate = 0, norm = 0;
  double seconds = 0;  // that it took
};

// What one step does depends on the parameters, the moments, the plan and the step's number alone: training that goes
// on from a stored state gives the same bits.
class Trainer {
 public:
  // All must outlive the trainer; `parameters` are changed.
  Trainer(kernels::Context& context, const Description& description, Parameters& parameters,
          const std::vector<Example>& examples, const BatchRules& rules, const TrainingPlan& plan);

  StepReport step();
  bool done() const { return state_.steps >= plan_.steps; }

  const AdamWState& state() const { return state_; }
  Network& network() { return network_; }
  void resume(AdamWState state) { state_ = std::move(state); }

 private:
  kernels::Context& context_;
  const Description& description_;
  Parameters& parameters_;
  const std::vector<Example>& examples_;
  BatchRules rules_;
  TrainingPlan plan_;
  Network network_;
  Parameters gradients_, part_;
  AdamWState state_;
};

}  // namespace orrery::network
