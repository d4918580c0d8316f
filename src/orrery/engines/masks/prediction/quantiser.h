// Queries and keys as codes of a few bits, from which scores are predicted (quantiser.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/attention_input.h"
#include "orrery/runtime/kernels/context.h"

namespace orrery::masks {

// Above it codes are clipped: a running maximum, kept with a model's weights. Training takes the first maximum as it is
// and moves towards later ones by a ten-thousandth; evaluation uses what there is.
struct ClipThreshold {
  float value = 0;  // 0: unset
  Count step = 0;

  void observe(float largest) {
    constexpr double kDecay = 0.9999;
    value = step == 0 ? largest : value - static_cast<float>(1 - kDecay) * (value - largest);
    ++step;
  }
};

enum class Normalise {
  kInnerProduct,  // rows are divided by their norms before they are quantised, scores multiplied by them
  kNone,
};

// Of fp32, which nothing quantises.
inline constexpr int kExactBits = 32;

struct QuantiserOptions {
  int bits = 4;  // 2, 4, 6 or 8; kExactBits: scores are those of the numbers themselves
  Normalise normalise = Normalise::kInnerProduct;
  std::optional<float> query_clip, key_clip;  // frozen; else the largest magnitude of this input
  // In training, in place of both: each observes this input's magnitude first. Not owned.
  ClipThreshold *query_running = nullptr, *key_running = nullptr;
};

// The largest code of so many bits.
constexpr int most_code(int bits) {
  return (1 << (bits - 1)) - 1;
}

struct QuantisedRows {
  std::vector<std::int8_t> codes;  // as the numbers lie
  std::vector<float> norms;        // of each row; 1 without normalisation
  float clip = 0;
  float scale = 0;  // largest code / clip
};

struct Quantised {
  QuantisedRows query, key;
  bool exact = false;  // there are no codes
  std::optional<std::pair<float, float>> clips() const {
    return exact ? std::nullopt : std::optional(std::pair(query.clip, key.clip));
  }
};

// The largest magnitudes of queries and keys as they would be quantised: what clip thresholds are learned from.
std::pair<float, float> largest_magnitudes(kernels::Context& context, const AttentionInput& input, Normalise normalise);

// Memory of `into` is used again. Without codes (kExactBits) only the range is checked. Throws Unfinished; throws
// InputError O1807 where a clip threshold is 0, not finite, or so small that the scale is not finite; O1808 where
// scores would leave the range of floats; O1884 where numbers are not finite.
void quantise(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& options, Quantised& into,
              const base::Budget& budget = {});

}  // namespace orrery::masks
