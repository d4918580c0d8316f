// Errors of predictions as text and JSON, the same for runs and for collectives.
#pragma once

#include <string>

#include "orrery/report/record.h"
#include "orrery/scenario/error_summary.h"

namespace orrery::report {

std::string signed_percent(double share);  // "+1.5" of 0.015
std::string plain_percent(double share);   // "1.5"

Record<scenario::ErrorSummary> error_summary();

}  // namespace orrery::report
