// The JSON document of `energy`: schema "orrery.energy/1". The keys are a contract with users' scripts.
#pragma once

#include "orrery/present/answer.h"
#include "orrery/verbs/energy/run.h"

namespace orrery::verbs {

Document<EstimatedChip> energy_document();

}  // namespace orrery::verbs
