// Warnings as every JSON document lists them.
#pragma once

#include <string>

#include "orrery/base/diagnostic.h"

namespace orrery::report {

// Text of a JSON array: {code, severity, message, where {file, line, column} or null, notes[], hints[]}, in the
// order they were met. Text and not a value, so that no JSON library shows in a header.
std::string warnings_json(const base::Diagnostics& warnings);

}  // namespace orrery::report
