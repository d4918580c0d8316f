// What --html and --plot make of an answer's document.
#pragma once

#include "orrery/cli/console.h"

namespace orrery::verbs {

const Pictures& pictures();

}  // namespace orrery::verbs
