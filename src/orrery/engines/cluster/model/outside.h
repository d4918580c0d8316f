// Communication that leaves a stage: between stages, and between replicas. Before overlap.
#pragma once

#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {

// Seconds over a whole iteration.
struct GradientSync {
  double gather = 0;  // weights, before and under ZeRO-3 during the passes
  double reduce = 0;  // gradients
};

struct Outside {
  double crossing = 0;   // of one boundary, once
  double steady = 0;     // crossings that overlap with the steady state's work
  double ends = 0;       // crossings of fill and drain
  double embedding = 0;  // the tied matrix
  GradientSync gradients;
};

// `fullest`: the parameters of the stage that has most.
Outside outside(const LayerContext& context, const StageParameters& fullest);

}  // namespace orrery::cluster
