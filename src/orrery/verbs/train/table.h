// What `train` prints: one iteration's time and memory as bar charts, and the usual figures of merit.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

std::string train_table(const TrainedModel& trained);

}  // namespace orrery::verbs
