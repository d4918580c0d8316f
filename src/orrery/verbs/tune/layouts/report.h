// How the layouts of a layer's operators look: table and JSON (schema "orrery.tune_layouts/1").
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/layouts/run.h"

namespace orrery::verbs {

std::string layouts_table(const LayoutsAnswer& answer);
Document<LayoutsAnswer> tune_layouts_document();

}  // namespace orrery::verbs
