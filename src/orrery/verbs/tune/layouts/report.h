// How the layouts of a layer's operators look: table and JSON (schema "orrery.tune_layouts/1").
#pragma once

#include <string>

#include "orrery/verbs/tune/layouts/run.h"

namespace orrery::verbs {

struct LayoutsDocument {
  std::string version;
  const LayoutsAnswer* answer = nullptr;  // borrowed
  double seconds = 0;                     // wall clock of the whole command
};

std::string layouts_table(const LayoutsAnswer& answer);
std::string layouts_json(const LayoutsDocument& document);

}  // namespace orrery::verbs
