// What `--fuse auto` chose, and from what.
#pragma once

#include <string>
#include <vector>

#include "orrery/report/record.h"
#include "orrery/scenario/fuse_pairs.h"

namespace orrery::report {

// The layers with ", fused" behind the names of those that a pair has.
std::vector<scenario::MappedLayer> marked(std::vector<scenario::MappedLayer> layers,
                                          const std::vector<scenario::FusedPair>& pairs);

// A row for each pair: what was chosen, beside what it costs not to fuse.
std::string fused_table(const std::vector<scenario::FusedPair>& pairs);

Record<scenario::FusedPair> fused_pair();

}  // namespace orrery::report
