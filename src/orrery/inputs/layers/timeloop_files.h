// An answer as the files that Timeloop and Accelergy write.
#pragma once

#include <vector>

#include "orrery/inputs/layers/map_model.h"
#include "orrery/inputs/output_file.h"

namespace orrery::verbs {

// map.yaml, map.txt and stats.txt of a layer; none without a mapping. `compat`: stats.txt as Timeloop prints it,
// defects included.
std::vector<OutputFile> timeloop_files(const MappedLayer& layer, bool compat);

// ERT.yaml, ART.yaml and their summaries.
std::vector<OutputFile> energy_files(const std::vector<energy::EstimatedComponent>& components);

}  // namespace orrery::verbs
