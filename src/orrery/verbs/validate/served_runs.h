// Predictions against measured runs of engines that serve models.
//
// A table is a CSV file in catalog/serving: comment lines `# title: ...`, `# source: ...`, `# licence: ...` and
// `# rows: ...` (how many rows the source has, and which were left out), then columns
//   row, use, note      as of measured runs         model, system   catalogue names
//   engine, precision   of `serve`                  kv_dtype        empty: 16 bits
//   tp, pp, ep, dp, replicas                        empty: 1
//   prefill_tp, prefill_replicas                    a pool of its own for prompts; empty: none
//   isl, osl            mean tokens                 concurrency, rate, waves        of the load (engines/serving)
//   max_batched_tokens, max_sequences               empty: the engine's
//   synchronous         1: a step is scheduled once the one before has ended (vLLM before 0.14)
//   ttft_ms, tpot_ms, output_tokens_per_s           what was measured: means
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/serving/model/load.h"
#include "orrery/inputs/systems/served_error.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

// A figure of a run.
struct ServedPoint {
  std::string row, model, system, note;
  Use use = Use::kHeldOut;
  ServedKind kind;
  double isl = 0, osl = 0;
  ServedFigure figure = ServedFigure::kTpot;
  double measured = 0, predicted = 0;
  double error = 0;  // predicted / measured - 1
};

struct ServedSet {
  std::string name, title, source, licence;
  std::string published;                                     // "838; left out: 2 that may be speculative"
  std::size_t rows = 0;                                      // of the table
  std::map<std::string, int> refused;                        // rows without a prediction, by why
  std::vector<ServedPoint> points;                           // worst first
  std::array<ErrorSummary, kServedFigures.size()> held_out;  // by figure

  std::size_t predicted() const;  // rows
  // Who measured: tables of one source have its name up to a `_`.
  std::string measured_by() const { return name.substr(0, name.find('_')); }
};

// Every table, sorted by name; `only` keeps those of these names. Throws InputError: O1358 for tables that cannot be
// read as such, O1359 for names that are none, and what systems and models report.
std::vector<ServedSet> validate_serving(const std::string& directory, const std::vector<std::string>& only = {});

// By kind and figure, of held-out points, sorted.
std::vector<ServedKindError> served_kinds(const std::vector<ServedSet>& sets);

}  // namespace orrery::verbs
