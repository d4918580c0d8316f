// Floating-point operations of training: those executed (the numerators of MFU and HFU), and those that papers count.
#pragma once

#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::cluster {

// FLOPs executed for one sequence, forward and backward. What flash attention skips because of a causal mask counts
// neither as the model's nor as the hardware's.
struct DoneFlops {
  double model = 0;     // every product once forward and twice backward
  double hardware = 0;  // recomputed products as well: by recomputation and by flash attention's backward pass
};

// What all of them are sums of: FLOPs of the forward pass on one sequence.
class ForwardFlops {
 public:
  explicit ForwardFlops(const Model& model);

  // With adapters of a rank beside frozen matrices, these have no weight gradient: twice, and the adapters three times.
  DoneFlops done(Recompute recompute, const Recomputed& parts = {}, base::Count lora_rank = 0,
                 bool lora_networks = true) const;
  double model() const;                        // model_flops_per_sequence
  double hardware(Recompute recompute) const;  // hardware_flops_per_sequence

 private:
  void add(const LayerKind& kind, double layers);

  double products_ = 0;          // projections, feed-forward networks, routers
  double core_ = 0;              // scores and their product with the values, in full: no causal discount
  double done_ = 0;              // what of the core is executed
  double latents_ = 0;           // of the products those with the latents of attention,
  double networks_ = 0;          // of dense feed-forward networks,
  double experts_ = 0;           // of routed experts and routers,
  double shared_ = 0;            // of shared experts
  double adapters_ = 0;          // adapters of rank 1 beside the layers' dense matrices,
  double network_adapters_ = 0;  // those of feed-forward networks apart
  double ends_ = 0;              // logits, and what stands around the layers; not recomputed
  double backward_ = 2;          // products of the core's backward pass over those of its forward pass
};

DoneFlops done_flops_per_sequence(const Model& model, Recompute recompute, const Recomputed& parts = {},
                                  base::Count lora_rank = 0, bool lora_networks = true);

// As papers count: attention in full. FLOPs of one sequence, forward and backward, recomputation not counted. For a
// plain GPT exactly Korthikanti 2022 (arXiv 2205.05198) eq. 7 with B = 1.
double model_flops_per_sequence(const Model& model);

// Recomputation counted. Full: another forward pass of the layers, for a plain GPT exactly Narayanan 2021
// (arXiv 2104.04473) eq. 3. Selective: exactly Korthikanti 2022 eq. 8, which counts the attention core twice in
// full although only its forward pass runs again; published HFU are of that convention.
double hardware_flops_per_sequence(const Model& model, Recompute recompute);

}  // namespace orrery::cluster
