#pragma once

#include "orrery/base/version.h"

namespace orrery::verbs {

using base::kVersion;

}  // namespace orrery::verbs
