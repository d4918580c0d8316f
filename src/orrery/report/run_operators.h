// The operators of a training run, as text and as JSON.
#pragma once

#include <string>

#include "orrery/report/record.h"
#include "orrery/scenario/train.h"

namespace orrery::report {

// The longest operators of an iteration: shape, how often, time, share, what binds, energy; then what was searched, and
// the energy of all. Empty where none are listed.
std::string run_operators_table(const scenario::TrainedModel& trained);

// The same with all operators and levels, as a part of train's answer.
Record<scenario::TrainedModel> run_operators_record();

}  // namespace orrery::report
