// The bytes of a model's weights as its file stores them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/transformer.h"
#include "orrery/formats/huggingface/quantisation.h"

namespace orrery::formats::huggingface {

// Of some matrices, those that are converted.
struct StoredPart {
  base::Count weights = 0;
  double bytes = 0;                                          // scales among them
  machine::Precision products = machine::Precision::kNvfp4;  // the widest of their formats
};

// Of all layers of a kind.
struct StoredKind {
  StoredPart mixer, network, router, experts;
};

struct StoredWeights {
  int plain_bits = 16;            // of what is not converted
  bool stated = false;            // false: the file says no width, and 16 bits are taken
  int bits = 16;                  // of most weights
  std::string method;             // of quantisation; empty: none
  base::Count converted = 0;      // parameters in fewer bits, scales not among them
  double scale_bytes = 0;         // scales, zeros and orders beside them
  double bytes = 0;               // of all parameters, `scale_bytes` among them
  std::vector<StoredKind> kinds;  // as the decoder's; none: nothing is converted
  StoredPart head;
  std::optional<machine::Precision> caches;  // of keys and values, where the file says one
  std::string unknown_caches;                // what it says of them, where that is not understood
};

// Finds names in the list of unconverted modules that name nothing (O0926). Throws base::OverflowError.
StoredWeights stored_weights(const workload::Transformer& model, const WeightWidths& widths, base::Diagnostics& found);

}  // namespace orrery::formats::huggingface
