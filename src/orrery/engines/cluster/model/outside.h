// Communication that leaves a stage: between stages, and between replicas. Before overlap.
#pragma once

#include "orrery/engines/cluster/layer/layer.h"
#include "orrery/engines/cluster/model/memory.h"

namespace orrery::cluster {

// Seconds over a whole iteration.
struct GradientSync {
  double gather = 0;  // weights, before and under ZeRO-3 during the passes
  double reduce = 0;  // gradients
  // Of those, what their bytes would take at the rate of the innermost network's links: communication takes units and
  // memory from work beside it by the byte, however long it waits for networks between nodes.
  double gather_moved = 0, reduce_moved = 0;
  double alone =
      0;  // with nothing beside: gathered weights out of the buffers that they come in, weights after the step
};

struct Outside {
  double crossing = 0;   // of one boundary, once
  double steady = 0;     // crossings that overlap with the steady state's work
  double ends = 0;       // crossings of fill and drain
  double embedding = 0;  // the tied matrix
  GradientSync gradients;
};

// Layers of a stage and what is around them: each is gathered and scattered by itself where weights or gradients are
// sharded, and goes beside the one before.
double sync_units(const Model& model, const Plan& plan);

// `fullest`: the parameters of the stage that has most.
Outside outside(const LayerContext& context, const StageParameters& fullest);

}  // namespace orrery::cluster
