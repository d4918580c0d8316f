// AccelForge's files: which parts of them are what. A file may hold several parts, and parts may be templates.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/timeloop/documents/jinja.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::accelforge {

using File = std::shared_ptr<const base::SourceFile>;

struct Documents {
  yaml::Node arch;       // null: there is none
  yaml::Node workload;   // null: there is none
  yaml::Node renames;    // null where there are none
  yaml::Node variables;  // null where there are none
  std::vector<File> included;
};

// True where a file names a part of AccelForge's at its top.
bool looks_like_accelforge(const base::SourceFile& file);

// Throws InputError: O2100 for a part that is missing, twice there or not read, and as the templates do.
Documents read_documents(const std::vector<File>& files, const timeloop::TemplateOptions& templates,
                         base::Diagnostics& found);

// Warns (O2101) about every key of a map that is not among `known`.
void warn_unknown(const yaml::Node& map, const std::vector<std::string_view>& known, std::string_view what,
                  base::Diagnostics& found);

}  // namespace orrery::formats::accelforge
