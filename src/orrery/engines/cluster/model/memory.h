// Bytes on the fullest accelerator of a training run, by kind.
#pragma once

#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// Bytes of activations that one layer keeps of one microbatch on one accelerator until its backward pass
// (Korthikanti 2022, table 2, and the corresponding terms for gated, grouped, latent, flash, mixture and scanning
// layers).
double activation_bytes_per_layer(const Model& model, const Plan& plan, const LayerKind& kind);

// Parameters of a stage on one accelerator: what is replicated over dp x cp, and the routed experts' share. Adapters
// stand beside the layers' matrices but the routed experts', and are cut and replicated as those are.
struct StageParameters {
  double dense = 0;
  double experts = 0;
  double adapters = 0;  // 0: the others are trained themselves
};
StageParameters stage_parameters(const Model& model, const Plan& plan, base::Count stage);

// Those that an accelerator's optimiser steps: its share of what is trained.
double stepped_parameters(const Plan& plan, const StageParameters& params);

// Bytes that lie in the host's memory for each accelerator, on the first stage; 0 where nothing is offloaded.
double host_bytes(const Model& model, const Plan& plan);

// Whether they find room there; so, where the system does not say how much there is.
bool hosts_hold(const Model& model, const System& system, const Plan& plan);

// Bytes on an accelerator of `stage`, 0 to pp - 1.
Memory stage_memory(const Model& model, const Plan& plan, base::Count stage);

// The same of the fullest stage, by its total; and the parameters of the stage that has most of them, with the
// most adapters of any.
struct Occupied {
  Memory fullest;
  StageParameters most;
};
Occupied occupied(const Model& model, const Plan& plan);

// The fullest stage's alone.
Memory memory(const Model& model, const Plan& plan);

}  // namespace orrery::cluster
