// What Megatron-Core and NeMo AutoModel do of a mixture by operators of PyTorch, one after the other through memory.
#pragma once

#include "orrery/engines/cluster/layer/layer.h"

namespace orrery::cluster {

// Of a layer on a rank: bytes at 16 bits, and operators that the host issues.
struct EagerExperts {
  double forward_bytes = 0, backward_bytes = 0;
  double limits_bytes = 0;  // of `forward_bytes`, what is done again where activations are
  double forward_ops = 0, backward_ops = 0, limits_ops = 0;
};

// Elements of a token on a rank that wait for the backward pass besides: what is limited is kept before and after.
double kept_by_limits(const Plan& plan, const LayerKind& kind);

EagerExperts eager_experts(const LayerContext& context, const LayerKind& kind);

}  // namespace orrery::cluster
