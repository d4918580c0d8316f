// What `map` answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"

namespace orrery::verbs {

// What the whole model takes of the chip's outermost storage (layers/model_memory.h).
struct ModelMemory {
  std::string storage;
  int word_bits = 0;
  std::optional<double> capacity_bytes;  // nothing: it does not say
  base::Count weights_words = 0, cache_words = 0, activation_words = 0;

  base::Count words() const {
    return base::checked_add(weights_words, base::checked_add(cache_words, activation_words));
  }
  double bytes() const { return static_cast<double>(words()) * word_bits / 8; }
};

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
  std::vector<std::string> legend = {};  // what the layers are
  ModelMemory memory = {};
};

struct MapAnswer {
  std::string title;               // of a model on its chip; empty: only layers
  std::optional<MappedWork> work;  // of a model
  MappedModel mapped;
  base::Count blocks = 0;  // of a model; 0: only layers
  std::string selected;    // the one layer of the model that was asked for; empty: all of them

  // New tokens a second, of all sequences, in what is mapped; nothing: not of a whole model, or a layer has no mapping.
  std::optional<double> tokens_per_s() const;
};

}  // namespace orrery::verbs
