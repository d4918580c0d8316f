// The JSON document of `serve`: schema "orrery.serve/1". The keys are a contract with users' scripts.
#pragma once

#include "orrery/present/answer.h"
#include "orrery/verbs/serve/answer.h"

namespace orrery::verbs {

Document<ServedAnswer> serve_document();

}  // namespace orrery::verbs
