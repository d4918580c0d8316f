// Texts that are data by the million lines, such as traces; descriptions are read by text_file.h.
#pragma once

#include <memory>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

// Published traces of a million requests have tens to hundreds of megabytes.
inline constexpr std::size_t kMostLongFileBytes = std::size_t{512} << 20;

// As read_file, but that O0103 is of more than kMostLongFileBytes.
std::shared_ptr<const SourceFile> read_long_file(const std::string& path);

}  // namespace orrery::base
