#pragma once

#include "orrery/base/version.h"

namespace orrery::cli {

using base::kVersion;

}  // namespace orrery::cli
