// Keys that a foreign document may have by mistake: a warning, with the known key it probably stands for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `-` and `_` are the same letter in Timeloop's keys.
std::string plain_key(std::string_view key);

// Warns `code` about every key of `map` that is not in `known`. Keys that begin with "ignore" are the user's own
// (Timeloop's rule).
void warn_unknown_keys(const yaml::Node& map, std::span<const std::string> known, const std::string& code,
                       std::string_view what, base::Diagnostics& found);
void warn_unknown_key(const yaml::Node::Entry& entry, std::span<const std::string> known, const std::string& code,
                      std::string_view what, base::Diagnostics& found);

// "`a`, `b`, `c`"
std::string quoted_list(std::span<const std::string> names);

// Adds "did you mean ..." when one of `known` is near `wanted`; otherwise lists them after `otherwise`.
void suggest(base::Diagnostic& diagnostic, std::string_view wanted, std::span<const std::string> known,
             std::string_view otherwise);

}  // namespace orrery::formats::timeloop
