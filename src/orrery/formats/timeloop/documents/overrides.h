// `--set path=value` on merged documents.
//
// A path names keys with dots between; an element of a list is named by its `name` or `target` (without
// range), or by its index from 0. Nodes inside `!Parallel` and other lists of nodes are found by name. `arch.NAME.KEY`
// is short for a key of the architecture's node NAME, of its `spatial` or of its `attributes`: arch.PE.meshX.
#pragma once

#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Replaces the value at `path`, which must exist (O0111); only `attributes` and `variables` take a new key, with a
// note (O0116). A variable that nothing reads is warned of (O0118), and refused where it resembles another. The new
// value is YAML text; its places are in a file "<--set>". `all` are the overrides of this run: the value of one may
// name a variable that another adds.
void apply_override(std::vector<yaml::Node::Entry>& top, const base::Override& set, const base::Overrides& all,
                    base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
