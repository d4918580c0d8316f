// The JSON document of `tune run`: schema "orrery.tune_run/1". The keys are a contract with users' scripts.
#pragma once

#include <string>

#include "orrery/scenario/tune_run.h"

namespace orrery::report {

struct TuneDocument {
  std::string version;
  const scenario::TunedRun* run = nullptr;  // borrowed
  double seconds = 0;                       // wall clock of the whole command
};

std::string tune_json(const TuneDocument& document);

}  // namespace orrery::report
