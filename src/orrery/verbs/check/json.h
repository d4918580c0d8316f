// The JSON document of `check`: schema "orrery.check/1".
#pragma once

#include "orrery/present/answer.h"
#include "orrery/verbs/check/run.h"

namespace orrery::verbs {

Document<Checked> check_document();

}  // namespace orrery::verbs
