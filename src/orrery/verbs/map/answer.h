// What `map` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// What of a model was mapped, and what was not.
struct MappedWork {
  std::string model, family;                 // as it was named; its `model_type`
  std::string phase;                         // "prefill", "decode", "verify"
  base::Count batch = 1, tokens = 1;         // sequences; tokens of each that are new
  base::Count cached = 0;                    // of each that went before
  std::optional<base::Count> max_positions;  // tokens of a sequence that the model takes; nothing: it does not say
  base::Count layers = 0;                    // that run in the phase
  struct Left {
    std::string what;
    std::optional<double> flop, share;  // of all products, the mapped and the others; nothing: it is no product
  };
  std::vector<Left> left_out;
};

struct MapAnswer {
  std::string title;               // of a model on its chip; empty: only layers
  std::optional<MappedWork> work;  // of a model
  MappedModel mapped;
  base::Count blocks = 0;  // of a model; 0: only layers
  std::string selected;    // the one layer of the model that was asked for; empty: all of them
};

}  // namespace orrery::verbs
