// A limit of time came before there was any answer: exit code 3.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::base {

struct OutOfTime : InputError {
  using InputError::InputError;
};

}  // namespace orrery::base
