// The few things that Timeloop users write with Jinja, without Jinja.
//
//   {{add_to_path('folder')}}, {{add_to_path(cwd() ~ '/folder')}}   where included files are looked for
//   key: {{include('file.yaml', 'key')}}, {{include('file.yaml')}}  a value from another file
//   {{name|default(16)}}                                           the default: there are no names to set
//   {# comment #}
//
// Anything else between {{ }} or {% %} is an error (O0113) with its place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

bool is_template(const base::SourceFile& file);

// Documents of a template, included values in their places (with the places of their own files). Errors
// O0100, O0101, O0113 are collected in `found`. `included` receives every file that was read.
std::vector<yaml::Node> expand_template(const std::shared_ptr<const base::SourceFile>& file,
                                        std::vector<std::shared_ptr<const base::SourceFile>>& included,
                                        base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
