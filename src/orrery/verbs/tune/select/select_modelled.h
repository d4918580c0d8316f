// An encoder's layer whose operators are timed by a model of a machine, for a choice of layouts without measurements.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "orrery/describe/machine/operator_model.h"
#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

struct ModelledRequest {
  LayerRequest layer;  // a model, or sizes
  std::string system;  // of the catalogue or a file, or this-machine
  std::optional<machine::Precision> precision;
  int threads = 0;  // of this-machine
};

struct ModelledLayer {
  std::shared_ptr<const tuning::Graph> graph;
  std::shared_ptr<const tuning::Measurements> times;  // all modelled
  std::string model, machine;                         // `model`: empty for sizes
  machine::Precision precision = machine::Precision::kBf16;
  double bytes_per_s = 0;  // of the memory, peak
  base::Diagnostics warnings;
};

// Throws InputError: what runnable_layer and rated_machine say; O1701 (counts beyond 64 bits); O1751 (a layer whose
// operators are not those of the graph). Warns: O1752, where only the model's sizes are taken.
ModelledLayer modelled_layer(const ModelledRequest& request);

}  // namespace orrery::verbs
