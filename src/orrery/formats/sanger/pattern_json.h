// Sanger's configurations of static masks: a JSON object with the key `class` and the class's parameters.
#pragma once

#include <memory>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/masks/static_mask.h"

namespace orrery::formats::sanger {

struct PatternFile {
  masks::Pattern pattern;
  base::Location where;  // of the class's name
};

// Keys that are left out have the classes' defaults. Throws InputError: O1813 (no class that is known), O1814 (no JSON
// object, or a parameter that cannot be). Adds the warning O1818 for keys that the class does not have.
PatternFile read_pattern(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& warnings);

}  // namespace orrery::formats::sanger
