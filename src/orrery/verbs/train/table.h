// What `train` prints: one iteration's time and memory as bar charts, and the usual figures of merit.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

std::string train_table(const TrainedModel& trained);

// "19.07 s", "3.2 ms", "33.5 d": three or four digits in a unit that suits.
std::string shown_seconds(double seconds);

}  // namespace orrery::verbs
