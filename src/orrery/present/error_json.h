// What is wrong with the input, for programs: schema "orrery.error/1".
#pragma once

#include <vector>

#include "orrery/present/answer.h"

namespace orrery::verbs {

// Every diagnostic, warnings included, in the order found; the same one twice is listed once. Texts that are no UTF-8
// are repaired with U+FFFD.
Document<std::vector<base::Diagnostic>> error_document();

}  // namespace orrery::verbs
