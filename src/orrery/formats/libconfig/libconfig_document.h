// libconfig's text, the first form of Timeloop's documents (`arch = { storage = ( { name = "Buffer"; } ); };`), as the
// nodes that YAML gives, each with its place.
#pragma once

#include <memory>
#include <optional>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::libconfig {

// By its name, which ends in `.cfg`.
bool is_libconfig(const base::SourceFile& file);

// The file's settings as one map; nothing after O0101. Files that it wants included are refused: a document that came
// from elsewhere reads none of its user's files. Bounded: 1 MiB of text, 200 levels, 4096 names in a group.
std::optional<yaml::Node> parse(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& found);

}  // namespace orrery::formats::libconfig
