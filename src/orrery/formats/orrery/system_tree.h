// A system's file as one tree: what it is `like` merged under it, and `--set` put on top.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::orrery {

inline constexpr const char* kSystemOverride = "!override";  // the tag of values that `--set` put there

// Whether a text is the path of a system's file and no name of the catalogue.
bool names_a_system_file(const std::string& text);

// Whether a chip's description says what this key of `accelerator` would say.
bool is_of_chip(const std::string& key);

// The map below `system:` of the file at `path`. `file`: its text, read where it is null. Throws InputError: O01xx for
// files that cannot be read, O1352 where there is no such map, O1355 where `like` leads nowhere or in a circle. Where a
// file, or `--set`, names a chip, what other files say of the accelerator goes, but its price and its host's time.
// Collects in `found`: O1351 for keys beside `system:`, O1357 for overrides of what is not there.
formats::yaml::Node system_tree(const std::string& directory, const std::string& path, const base::Overrides& overrides,
                                std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found);

}  // namespace orrery::formats::orrery
