// Clip thresholds of quantisers that a checkpoint has beside its weights, by the names of Sanger's classes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/inputs/networks/checkpoint_model.h"
#include "orrery/inputs/networks/pruned_model.h"
#include "orrery/runtime/pruning/pruned_network.h"

namespace orrery::verbs {

struct StoredClips {
  std::vector<masks::Clips> clips;
  std::size_t there = 0;  // attentions that have both thresholds
  bool any = false;
  std::vector<std::string> unset;  // buffers that are not above 0
};

StoredClips read_clips(const CheckpointModel& model, const std::vector<pruning::Place>& places);

// Throws InputError O1872 for the thresholds that are not set, of `places` attentions.
void refuse_clips(const CheckpointModel& model, const StoredClips& read, std::size_t places);

// Into the tensors that are stored beside the weights.
void store_clips(const PrunedModel& pruned, CheckpointModel& model);

}  // namespace orrery::verbs
