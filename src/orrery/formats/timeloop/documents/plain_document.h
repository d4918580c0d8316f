// Documents of one file that is no template.
#pragma once

#include <memory>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// libconfig where the file's name ends in `.cfg`, else YAML. Errors are collected.
std::vector<yaml::Node> parse_plain(const std::shared_ptr<const base::SourceFile>& file, base::Severity duplicate_keys,
                                    base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
