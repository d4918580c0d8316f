// Top-level keys of several documents, as one.
//
// A key that two files give is an error that shows both places, except where lists naturally add up:
// constraints (their targets), component classes, variables (equal values, or different names).
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Adds the entries of `document` to `top`. O0110 for what is given twice, O0112 (a warning) for keys of
// no meaning, O0114 for a document that has no keys.
void merge_document(yaml::Node document, std::vector<yaml::Node::Entry>& top, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
