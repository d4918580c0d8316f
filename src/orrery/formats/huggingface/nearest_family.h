// The family that a config.json of an unknown type is most like.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/huggingface/huggingface_config.h"

namespace orrery::formats::huggingface {

struct NearestFamily {
  std::string type;
  std::vector<std::string> left_out;  // keys of the file that it does not read, and that may matter
};

// Nothing where no family reads the file, or the file is too long to be read by all of them.
std::optional<NearestFamily> nearest_family(const std::shared_ptr<const base::SourceFile>& file,
                                            const ReadOptions& options, const std::string& name);

}  // namespace orrery::formats::huggingface
