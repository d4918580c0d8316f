// The JSON document of `train`: schema "orrery.train/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/train/run.h"

namespace orrery::verbs {

// Doubles round-trip exactly. All but `timing` and `certificate.seconds` is a pure function of the input.
Document<TrainedModel> train_document();

}  // namespace orrery::verbs
