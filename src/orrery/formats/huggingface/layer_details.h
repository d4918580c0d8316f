// What a config.json says of a layer beside its sizes: nothing of it costs a product, but a layer that runs must do it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/transformer.h"

namespace orrery::formats::huggingface {

enum class Turning { kNone, kHalves, kPairs };  // of queries and keys by their positions: which elements are a pair

struct LayerDetails {
  std::string activation;  // as Hugging Face names it
  bool stated = false;     // by the file; else the default of the family's configuration class
  base::Location activation_where;
  Turning turning = Turning::kNone;
  double turning_base = 10000;
  double turned_share = 1;            // of a head's elements
  base::Count turned = 0;             // elements of a head; 0: by the share
  double epsilon = 0;                 // of norms; 0: neither stated nor the family's own
  bool distances = false;             // scores have a term for the distance of two tokens
  bool turns_differ = false;          // some layers turn and some do not
  std::optional<double> score_scale;  // of scores; else 1 / sqrt(a head's elements)
  std::vector<std::string> bent;      // what else the file says of numbers, and nobody does
};

// The layer that is meant.
struct LayerPlace {
  base::Count index = 0;  // from 0
  bool windowed = false;  // sees a window
  bool gated = false;     // its network
  base::Count head = 1;   // elements of a head
};

LayerDetails layer_details(const std::shared_ptr<const base::SourceFile>& file, const workload::Transformer& model,
                           const workload::Stack& stack, const LayerPlace& place);

}  // namespace orrery::formats::huggingface
