// Documents that are templates: Jinja with the functions of Accelergy and timeloopfe that reach files.
//
//   include('file.yaml', 'a.b')       a value of another document; include_all('*.yaml', 'a'): lists of several, as one
//   include_text('file.yaml')         its text, so that its anchors can be named
//   add_to_path('folder')             where files are looked for, after the template's own folder
//   find_path('file'), path_exists('file'), cwd()
//
// Files are found in the folders that were given, and nowhere else (O2025): a template that came from elsewhere reads
// none of its user's files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

struct TemplateOptions {
  base::Overrides defined;           // names that templates know: --define
  std::vector<std::string> folders;  // besides its own, folders that a template may read: --include
};

bool is_template(const base::SourceFile& file);

// Adds the folders that files lie in.
TemplateOptions beside(TemplateOptions options, const std::vector<std::shared_ptr<const base::SourceFile>>& files);

// Documents of a template, included values in their places, all with the places where their authors wrote them. Errors
// O0100, O0101, O0103, O0113, O2025, O2026 are collected in `found`. `included` receives every file that was read.
std::vector<yaml::Node> expand_template(const std::shared_ptr<const base::SourceFile>& file,
                                        const TemplateOptions& options,
                                        std::vector<std::shared_ptr<const base::SourceFile>>& included,
                                        base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
