// Where setups and their published answers lie.
#pragma once

#include <filesystem>

#include "orrery/base/text/files_test_util.h"

namespace orrery::formats::dfmodel {

inline const std::filesystem::path kGoldens = base::kShared / "goldens" / "dataflow";

}  // namespace orrery::formats::dfmodel
