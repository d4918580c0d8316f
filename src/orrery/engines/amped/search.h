// AMPeD's search: every way of splitting a training over the nodes, with every batch size, the fastest first.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/amped/equations.h"

namespace orrery::amped {

struct Space {
  base::Count node_accelerators = 1;  // the degrees within a node multiply to this
  base::Count nodes = 1;              // the degrees across nodes multiply to this
  base::Count largest_batch = 1;      // global, in sequences: 1, 2, 3, ... up to this
  double memory_gb = 0;               // of an accelerator; 0: unknown, everything fits
};

struct Candidate {
  base::Count batch = 0;
  base::Count dp_intra = 1, tp_intra = 1, pp_intra = 1;
  base::Count dp_inter = 1, tp_inter = 1, pp_inter = 1;
  double microbatches = 0, memory_gb = 0;
  double iteration_s = 0, total_s = 0;
};

struct Search {
  std::vector<Candidate> valid;  // by total time; ties by batch, then degrees, as listed above
  std::int64_t considered = 0;   // batch sizes times splits
  // Why candidates are not valid; the first reason counts.
  std::int64_t more_stages_than_layers = 0;  // or layers that cannot be shared equally
  std::int64_t heads_not_shared = 0;         // tensor parallelism does not divide the heads
  std::int64_t batch_not_shared = 0;         // replicas and microbatches do not divide the batch
  std::int64_t too_large = 0;                // memory
  // Quantities that were given, but follow from batch size and degrees: calculated for each candidate.
  std::vector<std::string_view> recalculated;
};

// `base`: the quantities; `keep`: which of them are given and stay. Batch size and the six degrees are the search's,
// and so is what follows from them, except the number of microbatches and properties of the system: these stay.
Search search(const Quantities& base, const std::vector<bool>& keep, const Model& model, const Space& space);

// The effort of a search of `space`: splits that it distinguishes, and candidates that it evaluates; the latter are
// usually far fewer than the space has.
struct Effort {
  std::int64_t splits = 0, evaluations = 0;
};
std::int64_t splits(const Space& space);
Effort effort(const Quantities& base, const std::vector<bool>& keep, const Model& model, const Space& space);

// The fastest candidate of each split, the fastest split first; at most `most`.
std::vector<Candidate> best_candidates(const Search& search, std::size_t most);

}  // namespace orrery::amped
