// What one layer costs one accelerator, forward and backward, for one microbatch: the operators, the communication
// inside the layer, the host's part.
#pragma once

#include "orrery/describe/machine/operator_model.h"
#include "orrery/engines/cluster/model/iteration_operators.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/cluster/pipeline/placement.h"

namespace orrery::cluster {

// A pass over part of a stage. Seconds; sums over the parts are the pass of the whole.
struct Pass {
  double compute = 0;             // operators on the device, recomputed ones included
  double again = 0;               // the recomputed part of `compute`
  double weight = 0;              // the part of `compute` that makes weight gradients
  double tp = 0, ep = 0, cp = 0;  // exposed communication
  double tp_hidden = 0, ep_hidden = 0, cp_hidden = 0;
  double host = 0;         // issuing operators, and the jitter of their collectives; runs in parallel to the device
  double weight_host = 0;  // the part of `host` that issues weight gradients

  double exposed() const { return tp + ep + cp; }
  double device() const { return compute + exposed(); }
  void add(const Pass& part, double times);
};

struct PassPair {
  Pass forward;
  Pass backward;
};

// What all layers of a plan on a system share; computed once per evaluation.
struct LayerContext {
  const Model& model;
  const System& system;
  const Plan& plan;
  const machine::OperatorModel& operators;
  base::Count tokens = 0;        // of a microbatch on one context-parallel rank
  double element = 2;            // bytes of a stored activation
  double norm_share = 1;         // of the hidden state that this rank normalises: 1 / tp with sequence parallelism
  double all_reduce_s = 0;       // of one hidden state over the tensor-parallel group
  double embedded_s = 0;         // of what the tables yield
  collective::Group contexts;    // the ranks that share a sequence
  collective::Group experts;     // the ranks that tokens are sent to,
  double expert_nodes = 1;       // and the nodes that these are on
  OperatorUses* uses = nullptr;  // where every operator that is priced is noted; null: nobody asks
  // By whose seconds one of two operators is taken, where `operators` prices nothing; null: by its own.
  const machine::OperatorModel* asked = nullptr;
};
LayerContext layer_context(const Model& model, const System& system, const Plan& plan,
                           const machine::OperatorModel& operators);

// One layer. The backward pass includes recomputation.
PassPair layer_passes(const LayerContext& context, const LayerKind& kind);

// The work of the first stage before its layers, and of the last one after them.
PassPair embedding_passes(const LayerContext& context);
PassPair logits_passes(const LayerContext& context);

// One of the further layers that predict a token beyond the next: the projection of the state beside that token, the
// layer and its logits.
PassPair ahead_passes(const LayerContext& context);

}  // namespace orrery::cluster
