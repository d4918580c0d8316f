// Where descriptions come from: the catalogue's directory, and texts that have no file.
#pragma once

#include <memory>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/orrery.h"

namespace orrery::library {

std::string directory_of(const Reading& how);

// `text` as messages name it.
std::shared_ptr<const base::SourceFile> source(const std::string& text);

}  // namespace orrery::library
