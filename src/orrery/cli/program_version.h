#pragma once

#include "orrery/base/limits/version.h"

namespace orrery::verbs {

using base::kVersion;

}  // namespace orrery::verbs
