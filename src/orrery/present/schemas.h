// The schema of each kind of document: of those that are read, and of those that verbs print, the latter from the
// descriptions that write them.
#pragma once

#include <string_view>

#include "orrery/present/json_value.h"

namespace orrery::verbs {

Json input_schema(std::string_view kind);  // "chip", "problem", ...; null where it is none

}  // namespace orrery::verbs
