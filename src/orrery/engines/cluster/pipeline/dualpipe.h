// DualPipe event by event: a pipeline that runs in both directions at once (DeepSeek-V3, arXiv 2412.19437).
#pragma once

#include <vector>

#include "orrery/engines/cluster/pipeline/schedule.h"

namespace orrery::cluster {

// Every event of one iteration. Work of `stages` is that of accelerators, each of which has two stages: the mean of the
// two. Of events that go side by side the forward one is shown before the backward one. Chunk 0 goes from the first
// stage to the last, chunk 1 from the last to the first. An even number of stages, an even number of microbatches, at
// least two for each stage.
std::vector<StageEvent> simulate_dualpipe(const std::vector<StageWork>& stages, base::Count microbatches,
                                          double boundary_s);

}  // namespace orrery::cluster
