// Answers of `sparse simulate`: a table, the JSON document "orrery.sparse_simulate/1" and a trace.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/sparse/simulate/run.h"

namespace orrery::verbs {

Document<SparseSimulate> sparse_simulate_document();
std::string sparse_simulate_table(const SparseSimulate& answer);

// A JSON document of the Trace Event Format, for ui.perfetto.dev: a thread for each unit, times in microseconds.
std::string array_trace(const SparseSimulate& answer);

// The accelerator: sizes, widths, memories.
Record<accelerator::Instance> array_instance();

}  // namespace orrery::verbs
