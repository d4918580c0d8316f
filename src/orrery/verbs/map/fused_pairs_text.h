// What `--fuse auto` chose, and from what.
#pragma once

#include <string>
#include <vector>

#include "orrery/present/record.h"
#include "orrery/verbs/map/fuse_pairs.h"

namespace orrery::verbs {

// The layers with ", fused" behind the names of those that a pair has.
std::vector<MappedLayer> marked(std::vector<MappedLayer> layers, const std::vector<FusedPair>& pairs);

// A row for each pair: what was chosen, beside what it costs not to fuse.
std::string fused_table(const std::vector<FusedPair>& pairs);

Record<FusedPair> fused_pair();

}  // namespace orrery::verbs
