// Many plans, evaluated one by one: rows of a CSV or lines of JSON in, rows with their figures out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

struct PlanRowsInput {
  std::string name;   // for messages
  std::string path;   // of CSV with a header of fields of a plan, or of a JSON object of them a line
  bool json = false;  // rows go out as JSON lines, not as CSV
};

struct EvaluatedRows {
  std::uint64_t rows = 0, bad = 0;
  bool ended_early = false;                // a limit or an interrupt
  std::vector<base::Diagnostic> problems;  // warnings; of bad rows the first ones, and how many more there are
};

// What a row does not say is as the request says it; accelerators are the product of the degrees where neither does,
// and replicas what they leave. Rows go to `write` in their order, in pieces; a bad one has no figures but an error,
// and is told in `problems` with its line (O1946 for what is no value, O1300 to O1319 for what is not possible).
// Throws InputError: as train(), and O1947 for a header that names what a plan does not have.
EvaluatedRows evaluate_plan_rows(const TrainRequest& request, const PlanRowsInput& input,
                                 const std::function<void(const std::string&)>& write);

}  // namespace orrery::verbs
