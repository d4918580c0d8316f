// Templates as AccelForge expands them: those of jinja.h, but that
//
//   - an included document knows the variables of the template that includes it, as they are there;
//   - a part of an included value is named behind it: `{{include('file.yaml', '')}}.workload.einsums`;
//   - `<<<` merges included values as well;
//   - the folders of `--include` are searched, and a file below a folder `workloads` may read all that lies in it, as
//     AccelForge ships its workloads.
#pragma once

#include <memory>
#include <vector>

#include "orrery/formats/timeloop/documents/jinja.h"

namespace orrery::formats::timeloop {

// As expand_template().
std::vector<yaml::Node> expand_inheriting(const std::shared_ptr<const base::SourceFile>& file,
                                          const TemplateOptions& options,
                                          std::vector<std::shared_ptr<const base::SourceFile>>& included,
                                          base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
