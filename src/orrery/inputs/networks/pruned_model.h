// A checkpoint's model with pruned attention: which rule, and what its quantisers have learned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/masks/measure.h"
#include "orrery/inputs/networks/checkpoint_model.h"
#include "orrery/runtime/pruning/pruned_network.h"

namespace orrery::verbs {

struct PruningRequest {
  std::string config;   // a file with Sanger's keys; "none": dense; empty: as the checkpoint's config.json says
  std::string pattern;  // a static mask beside it: one of sparse_mask_kinds(), or Sanger's file; empty: none
  std::optional<masks::PredictorOptions> predictor;  // in place of the configuration's rule
  std::optional<masks::EmptyRows> empty;
  bool calibrate = false;  // clip thresholds from the texts at hand, whatever the checkpoint has
};

enum class ClipsFrom { kNothing, kCheckpoint, kTexts, kTraining };
const char* name_of(ClipsFrom from);

struct PrunedModel {
  std::optional<pruning::PrunedNetwork> network;  // nothing: dense
  ClipsFrom clips = ClipsFrom::kNothing;
  std::string rule = "dense";  // in words
  std::string identity;        // the rule exactly; empty: dense
  bool prunes() const { return network.has_value(); }
};

// What becomes of quantisers whose thresholds the checkpoint lacks.
enum class Unclipped { kRefuse, kCalibrate, kLearn };

// Throws InputError: O1870 (a configuration), O1809 to O1814 (a static mask), O1872 (clip thresholds that are not set).
// Notes in `model` what a folder that is stored must have, and its warnings: O1871 (keys that are not looked at).
PrunedModel open_pruning(const PruningRequest& request, CheckpointModel& model, Unclipped unclipped);

// Masks of the network's largest batch fit into what a mask may take: else throws InputError O1803.
void check_masks(const network::Network::Size& size, const network::Description& description);

// What the masks of a run come to.
struct PrunedFigures {
  std::string rule;
  ClipsFrom clips = ClipsFrom::kNothing;
  std::vector<masks::Measured> masks;  // of each attention and batch
  base::Count emptied = 0;             // rows that lost every key
  // From now on; it must outlive the runs of the network, and stay where it is.
  void watch(PrunedModel& pruned);
};

// O1877, where the checkpoint's config.json asks for pruned attention and what runs is dense.
void warn_of_dense(CheckpointModel& model);

}  // namespace orrery::verbs
