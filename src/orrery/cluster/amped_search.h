// AMPeD's search: every way of splitting a training over the nodes, with every batch size, the fastest first.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/cluster/amped_equations.h"

namespace orrery::cluster {

struct AmpedSpace {
  base::Count node_accelerators = 1;     // the degrees within a node multiply to this
  base::Count nodes = 1;                 // the degrees across nodes multiply to this
  std::vector<base::Count> batch_sizes;  // global, in sequences
  double memory_gb = 0;                  // of an accelerator; 0: unknown, everything fits
};

struct AmpedCandidate {
  base::Count batch = 0;
  base::Count dp_intra = 1, tp_intra = 1, pp_intra = 1;
  base::Count dp_inter = 1, tp_inter = 1, pp_inter = 1;
  double microbatches = 0, memory_gb = 0;
  double iteration_s = 0, total_s = 0;
};

struct AmpedSearch {
  std::vector<AmpedCandidate> valid;  // by total time; ties by batch, then degrees, as listed above
  std::int64_t considered = 0;        // batch sizes times splits
  // Why candidates are not valid; the first reason counts.
  std::int64_t more_stages_than_layers = 0;  // or layers that cannot be shared equally
  std::int64_t heads_not_shared = 0;         // tensor parallelism does not divide the heads
  std::int64_t batch_not_shared = 0;         // replicas and microbatches do not divide the batch
  std::int64_t too_large = 0;                // memory
};

// `base`: the quantities; `keep`: which of them are given and stay. Batch size and the six degrees are the search's.
// Evaluates each candidate; the answer does not depend on the order of batch sizes.
AmpedSearch amped_search(const AmpedQuantities& base, std::vector<bool> keep, const AmpedModel& model,
                         const AmpedSpace& space);

// How many candidates a search of `space` considers.
std::int64_t amped_candidates(const AmpedSpace& space);

// 1, 2, 4, ... below `largest`, and `largest`: what is searched where the user names no batch sizes.
std::vector<base::Count> amped_batch_sizes(base::Count largest);

}  // namespace orrery::cluster
