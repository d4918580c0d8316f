// The scores that are to be pruned: queries, keys, and which pairs of them are there.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::masks {

struct AttentionInput {
  MaskShape shape;  // rows: queries, columns: keys; they differ in cross attention
  Count depth = 0;
  const float* query = nullptr;  // [batch][heads][rows][depth], finite
  const float* key = nullptr;    // [batch][heads][columns][depth], finite
  float scale = 1;               // of q k: 1 / sqrt(depth); 1 where the queries were scaled before (BART)
  std::vector<std::uint8_t> valid_rows, valid_columns;  // as Mask has them
  bool causal = false;

  Mask empty_mask() const {
    Mask mask(shape);
    mask.valid_rows = valid_rows;
    mask.valid_columns = valid_columns;
    mask.causal = causal;
    return mask;
  }
};

}  // namespace orrery::masks
