// Predictions against measured collectives: nccl-tests and its like on the catalogue's systems.
//
// A table is a CSV file in catalog/collectives: comment lines `# title: ...`, `# source: ...`, `# licence: ...`, then
// columns
//   system     catalogue name                             operation  all-reduce, all-gather, reduce-scatter, all-to-all
//   ranks      of the group, filling node after node      bytes      as describe/collective/collective.h counts them
//   seconds    of one operation                           use, note  as of run.h
//   algorithm  `ring` or `switch` (which adds), where the library was told or said so; empty: the fastest that there is
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/collective/collective.h"
#include "orrery/verbs/validate/error_summary.h"

namespace orrery::verbs {

struct ValidatedCollective {
  std::string system;
  Use use = Use::kHeldOut;
  collective::Operation operation = collective::Operation::kAllReduce;
  int ranks = 0;
  double bytes = 0;
  double measured_s = 0, predicted_s = 0;
  double error = 0;  // predicted / measured - 1
  std::string algorithm;
  std::string note;
};

struct ValidatedCollectives {
  std::string name, title, source, licence;
  std::vector<ValidatedCollective> points;  // as the table has them
  ErrorSummary held_out;
  ErrorSummary fitted;
  ErrorSummary large;  // of the held-out ones, those of at least kLargeBytes: what bandwidth alone decides
};

inline constexpr double kLargeBytes = 256.0 * 1024 * 1024;

std::string_view name(collective::Operation operation);

// Every table, sorted by name; `only` keeps those of these names. Throws InputError: O1358 for tables that cannot be
// read as such, O1359 for names that are none, and what systems report.
std::vector<ValidatedCollectives> validate_collectives(const std::string& directory,
                                                       const std::vector<std::string>& only = {});

}  // namespace orrery::verbs
