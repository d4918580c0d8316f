// Errors of all tables' runs together, by what the runs have in common.
#pragma once

#include <string>
#include <vector>

#include "orrery/verbs/validate/answer.h"

namespace orrery::verbs {

// Runs that are alike in one respect, those that constants were fitted on too.
struct ErrorGroup {
  std::string by;    // table, accelerator, software, precision, layers or accelerators
  std::string name;  // what they have in common
  ErrorSummary errors;
  ErrorSummary
      constant;  // of one utilisation for each accelerator and width of products, the median of these very runs
};

// The utilisation that was measured, by the model's FLOPs.
double measured_utilisation(const ValidatedPoint& point);
// The error where `utilisation` is predicted.
double error_of_utilisation(const ValidatedPoint& point, double utilisation);

// By each respect in turn. Runs that are unverified do not count.
std::vector<ErrorGroup> error_groups(const std::vector<ValidatedSet>& sets);

}  // namespace orrery::verbs
