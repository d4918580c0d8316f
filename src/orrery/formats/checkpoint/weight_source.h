// The bytes of a checkpoint's file, where they lie, and what holds them there.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::checkpoint {

struct Source {
  std::string_view bytes;
  std::shared_ptr<const void> keeper;  // tensors keep it, too
  base::Location whole;                // the file, for messages
};

// Throws InputError (O0100) where there is no such file or it cannot be read.
Source map_file(const std::string& path);

// A place that is a file by its name alone.
base::Location whole_file(const std::string& path);

}  // namespace orrery::formats::checkpoint
