// The part of a space that recipes of today keep to: what is known to run well, not all that the software accepts.
//
//   tp           within a node
//   cp           from kLeastLocalTokens tokens on each rank
//   micro_batch  powers of two up to kMostMicroBatch, of software that pipelines it (Megatron-LM, Megatron-Core)
//   zero         the optimiser's state at most, of the same software, which then lacks the rest
//   shard, order   the first choice: over all replicas, in the order of ranks that is usual
//   offload_activations, offload_optimizer   nothing
//
// Of Megatron-Core's 213 published runs in catalog/validation all but 7 keep to these; of the others three offload
// activations and four shard weights.
#pragma once

#include "orrery/engines/cluster/search/space.h"

namespace orrery::cluster {

inline constexpr base::Count kMostMicroBatch = 8;
inline constexpr base::Count kLeastLocalTokens = 4096;

// Whether microbatches and sharding of the software are bounded so.
bool pipelines_small_batches(StackName software);
// With nothing in the hosts' memory but what is given so.
Space without_offloading(Space space);
// With those values of the open variables; what is given stays.
Space usual_space(const Model& model, const System& system, const Space& space);

}  // namespace orrery::cluster
