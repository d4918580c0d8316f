// What one training iteration takes: time by cause, memory by kind, and the usual figures of merit. Plain data.
#pragma once

#include <string_view>

namespace orrery::cluster {

// Seconds of the iteration by cause, on the slowest stage. The ten terms sum to Iteration::iteration_s exactly.
struct Breakdown {
  double forward = 0;     // operators of the forward passes, waits for the host included
  double backward = 0;    // gradients with respect to inputs and weights
  double recompute = 0;   // forward work done again
  double optimizer = 0;   // the step, and what an iteration costs once
  double tp_exposed = 0;  // communication that is not hidden by work, by class; sequence parallelism counts as tp
  double pp_exposed = 0;  // between stages, and the tied embedding's gradient
  double dp_exposed = 0;  // gradients, and weights under ZeRO
  double ep_exposed = 0;
  double cp_exposed = 0;
  double bubble = 0;  // waiting for other stages

  double sum() const {
    return forward + backward + recompute + optimizer + tp_exposed + pp_exposed + dp_exposed + ep_exposed + cp_exposed +
           bubble;
  }
};

// Communication that overlaps with work, seconds.
struct HiddenCommunication {
  double tp = 0, pp = 0, dp = 0, ep = 0, cp = 0;
};

enum class MemoryTerm { kWeights, kGradients, kOptimizer, kActivations, kBuffers };
std::string_view name(MemoryTerm term);

// Bytes on the fullest accelerator.
struct Memory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double buffers = 0;  // gathered weights, boundary tensors, all-to-all, logits, libraries
  double reserve = 0;  // what the allocator keeps beyond what is in use; it gives way where memory is short

  double in_use() const { return weights + gradients + optimizer + activations + buffers; }
  double total() const { return in_use() + reserve; }
  MemoryTerm largest() const;
};

// Seconds that a stage spends on one microbatch, communication inside the stage included. The trace is made from it.
struct StageTimes {
  double forward = 0;
  double backward = 0;         // recomputation, input and weight gradients together
  double weight_gradient = 0;  // the part of `backward` that is deferred; schedules that put it off only
  double apart = 0;            // DualPipe: more, where the two passes do not go side by side
  // Stages that are folded to a V: the part of the three that their second chunk takes.
  double second_forward = 0, second_backward = 0, second_weight_gradient = 0;
};

struct Utilisation {
  double mfu = 0;             // share of the peak, counting the model's FLOPs
  double hfu = 0;             // counting recomputed ones too
  double tflops_per_gpu = 0;  // of the model's FLOPs
};

struct Iteration {
  double iteration_s = 0;
  Breakdown breakdown;
  HiddenCommunication hidden;
  Memory memory;
  double capacity_bytes = 0;
  bool fits = true;
  double excess_bytes = 0;  // by how much it does not fit; 0 where it fits
  double memory_error = 0;  // share by which what is in use may be off
  bool uncertain = false;   // by that much more it would not fit, by that much less it would

  bool surely_not() const { return !fits && !uncertain; }

  Utilisation done;       // of the FLOPs that are executed (engines/cluster/model/flops.h): 0 < mfu <= hfu <= 1
  Utilisation published;  // as papers count, attention in full whatever its kernel skips: for comparison with papers
  double tokens_per_s = 0;

  double microbatches = 0;
  StageTimes first, middle, last;  // stages of the pipeline; equal where there are fewer than three
  double boundary_s = 0;           // exposed, of one microbatch from stage to stage
  double drain_s = 0;              // after the pipeline: gradients, the tied embedding's among them, and the optimiser
};

}  // namespace orrery::cluster
