// The JSON document of `tune select`: schema "orrery.tune_select/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

Document<TunedSelection> tune_select_document();

}  // namespace orrery::verbs
