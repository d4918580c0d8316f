// What software that runs operator by operator does of norms and rotations, beside what a fused kernel would.
#pragma once

#include "orrery/engines/cluster/layer/layer.h"

namespace orrery::cluster {

// Bytes of a layer's microbatch on a rank.
struct EagerNorms {
  double forward_bytes = 0, backward_bytes = 0;
  double norms_bytes = 0;  // of `forward_bytes`, what is done again where norms are
};

// Bytes of a token on a rank that wait for the backward pass besides.
double kept_by_chains(const Plan& plan, const LayerKind& kind);

EagerNorms eager_norms(const LayerContext& context, const LayerKind& kind);

}  // namespace orrery::cluster
