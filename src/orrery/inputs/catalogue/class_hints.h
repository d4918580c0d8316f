// Classes that nobody knows, and that a file below the folder describes.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

// Of a folder only the files that lie in it are read. Where a class has no estimator (O1201) and a YAML file one folder
// below the architecture's names it, or a set of tables there or beside has one of that name, a hint tells which it is.
std::vector<base::Diagnostic> with_class_hints(std::vector<base::Diagnostic> found);

}  // namespace orrery::verbs
