// The operators of a training run, as text and as JSON.
#pragma once

#include <string>

#include "orrery/present/record.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// The longest operators of an iteration: shape, how often, time, share, what binds, energy; then what was searched, and
// the energy of all. Empty where none are listed.
std::string run_operators_table(const TrainedModel& trained);

// The same with all operators and levels, as a part of train's answer.
Record<TrainedModel> run_operators_record();

}  // namespace orrery::verbs
