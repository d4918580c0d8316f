// Errors of predictions as text and JSON, the same for runs and for collectives.
#pragma once

#include <string>

#include "orrery/present/record.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

std::string signed_percent(double share);  // "+1.5" of 0.015
std::string plain_percent(double share);   // "1.5"

Record<ErrorSummary> error_summary();

}  // namespace orrery::verbs
