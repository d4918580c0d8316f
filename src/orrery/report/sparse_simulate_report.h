// Answers of `sparse simulate`: a table, the JSON document "orrery.sparse_simulate/1" and a trace.
#pragma once

#include <string>

#include "orrery/report/record.h"
#include "orrery/scenario/sparse_simulate.h"

namespace orrery::report {

struct SparseSimulateDocument {
  std::string version;
  const scenario::SparseSimulate* answer = nullptr;  // borrowed
  double seconds = 0;
};
std::string sparse_simulate_json(const SparseSimulateDocument& document);
std::string sparse_simulate_table(const scenario::SparseSimulate& answer);

// A JSON document of the Trace Event Format, for ui.perfetto.dev: a thread for each unit, times in microseconds.
std::string array_trace(const scenario::SparseSimulate& answer);

// The accelerator: sizes, widths, memories.
Record<array::Instance> array_instance();

}  // namespace orrery::report
