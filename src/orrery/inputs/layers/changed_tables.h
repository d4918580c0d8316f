// Whether `--set` makes another chip than the one that an ERT and an ART were made for.
//
// Their figures are of memories of one depth, in one technology. A chip whose attributes are set anew keeps them as
// they are, so that a smaller memory costs as much as the larger one. Both chips are estimated, with what is set and
// without it, and figures that differ are named, with the factor by which they do: bandwidths, meshes and bounds of a
// problem change none. Cost: two readings and two estimates, where anything is set and there are tables.
#pragma once

#include <memory>
#include <vector>

#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/layers/estimators.h"

namespace orrery::verbs {

// Warning O1265 where the figures differ, or where they cannot be estimated and attributes do. `how` has the overrides.
void warn_of_changed_tables(const std::vector<std::shared_ptr<const base::SourceFile>>& files,
                            formats::timeloop::ReadOptions how, Estimators& estimators, base::Diagnostics& found);

}  // namespace orrery::verbs
