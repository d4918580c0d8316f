// `map` with the fusion of every pair chosen: `--fuse auto`.
#pragma once

#include <vector>

#include "orrery/verbs/map/fuse_pairs.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

struct FusedAnswer {
  MapAnswer map;
  std::vector<FusedPair> fused;  // what was chosen
};

// Throws InputError: O2034 where there is no pair, O2043 where the request fixes or asks what goes with one choice, and
// as map().
FusedAnswer map_with_chosen_fusion(const MapRequest& request);

}  // namespace orrery::verbs
