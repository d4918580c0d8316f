// `tune run` as text.
#pragma once

#include <string>

#include "orrery/scenario/tune_run.h"

namespace orrery::report {

std::string tune_table(const scenario::TunedRun& run);

// The measured iterations for Perfetto: a document of the Trace Event Format with a row for each pass, one event an
// operator, times in microseconds.
std::string layer_trace(const scenario::TunedRun& run);

}  // namespace orrery::report
