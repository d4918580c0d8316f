// What `train` and `place --model` ask in the same words: a model on a system, spread how.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"

namespace orrery::verbs {

// What the user said; what is absent has a default.
struct RunQuestion {
  std::string model;                 // catalogue name or path
  std::string system;                // catalogue name or path
  std::string chip;                  // in the place of its accelerator: catalogue name, file or folder; empty: none
  bool fuse = false;                 // that chip runs attention as one operator
  std::vector<std::string> ignored;  // keys of the model's config.json to leave out of account
  std::string like;                  // a `model_type` to read it as; empty: its own
  std::optional<base::Count> gpus, global_batch, micro_batch, seq;
  std::optional<base::Count> tp, pp, dp;
  std::optional<machine::Precision> precision;
};

// O1372, below errors about one choice of the degrees `open`; `why`, where it is known.
void refuse_choice_of(const std::vector<std::string>& open, base::Diagnostics& found, const std::string& why = "");

}  // namespace orrery::verbs
