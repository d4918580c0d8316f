// `tune run` as text.
#pragma once

#include <string>

#include "orrery/verbs/tune/run/run.h"

namespace orrery::verbs {

std::string tune_table(const TunedRun& run);

// The measured iterations for Perfetto: a document of the Trace Event Format with a row for each pass, one event an
// operator, times in microseconds.
std::string layer_trace(const TunedRun& run);

}  // namespace orrery::verbs
