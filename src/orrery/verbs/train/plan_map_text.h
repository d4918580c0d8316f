// The best time of every tp x pp, beside the best of all.
#pragma once

#include <string>

#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// As text: tp across, pp down, times in percent above the best. Of many pp those that are best for some tp and those
// that divide the layers.
std::string plan_map(const TrainedModel& trained);

// As a picture.
std::string plan_map_svg(const TrainedModel& trained);

}  // namespace orrery::verbs
