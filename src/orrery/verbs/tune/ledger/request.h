// What `tune ledger` is asked.
#pragma once

#include <optional>
#include <string>

#include "orrery/describe/machine/operator.h"
#include "orrery/verbs/tune/runnable_layer.h"

namespace orrery::verbs {

struct LedgerRequest {
  LayerRequest layer;
  bool training = true;
  std::optional<bool> dropout;  // default: as the model is trained; of given sizes: yes
  std::string system, chip;     // of the catalogue or files; neither: this machine, measured
  std::optional<machine::Precision> precision;
  int threads = 0;  // of this machine; <= 0: all cores
};

}  // namespace orrery::verbs
