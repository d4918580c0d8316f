// The JSON document of `tune run`: schema "orrery.tune_run/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/run/run.h"

namespace orrery::verbs {

Document<TunedRun> tune_run_document();

}  // namespace orrery::verbs
