// Formats of sparse data (`representation_format` of `sparse_optimizations`): their metadata would take words and
// energy, which the engine does not count, so they are an error (O2028). Gating and skipping do nothing on dense data.
#pragma once

#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Where they are to be ignored, they and other sparse optimisations are notes.
void check_sparse_formats(const std::vector<yaml::Node::Entry>& top, bool ignored, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
