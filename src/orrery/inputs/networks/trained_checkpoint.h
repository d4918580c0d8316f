// The folder that training leaves, and from which it goes on.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/networks/task_examples.h"
#include "orrery/runtime/network/trainer.h"

namespace orrery::verbs {

// What must be the same for training to go on: the plan, the task, the examples, the type of activations.
struct RunIdentity {
  std::string plan, data;  // in words; a hash
};
RunIdentity run_identity(const network::TrainingPlan& plan, const std::vector<network::Example>& examples,
                         const std::string& task, kernels::Type type);

// Writes model.safetensors (with what the checkpoint had beside the model's weights), config.json for the task, copies
// of the tokenizer's files from `source`, training_state.safetensors. Throws InputError (O1610) where it cannot.
void store(const std::string& folder, const std::string& source, CheckpointModel& model, Task task,
           const std::vector<std::string>& labels, const network::AdamWState& state, const RunIdentity& run);

// Makes the folder, so that one that cannot be written is known before hours of training. Throws InputError (O1610).
void make_output(const std::string& folder);

// Throws InputError: O0100 (no state), O1655 (of another run, or of other sizes).
bool has_state(const std::string& folder);

network::AdamWState read_state(const std::string& folder, network::Parameters& parameters,
                               const network::Description& description, const RunIdentity& run);

}  // namespace orrery::verbs
