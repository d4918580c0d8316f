// Where factors may leave a rest.
#pragma once

#include <vector>

#include "orrery/scenario/layer_question.h"

namespace orrery::scenario {

// Throws InputError O1950 for layers whose windows slide: factors that leave a rest are not modelled there.
void require_rests(const std::vector<LayerQuestion>& questions);

}  // namespace orrery::scenario
