// The JSON document of `tune select`: schema "orrery.tune_select/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {

struct SelectDocument {
  std::string version;
  const TunedSelection* answer = nullptr;  // borrowed
  double seconds = 0;                      // wall clock of the whole command
};

std::string select_json(const SelectDocument& document);

}  // namespace orrery::verbs
