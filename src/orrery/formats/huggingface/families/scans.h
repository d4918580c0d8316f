// Mamba-2 as several families have it.
#pragma once

#include <string_view>

#include "orrery/formats/huggingface/families/config_reading.h"

namespace orrery::formats::huggingface {

struct Mamba2Sizes {
  base::Count hidden = 0, inner = 0, heads = 0, width = 0, state = 0, groups = 1, taps = 4;
  bool bias = false, output_bias = false, convolution_bias = true;
  bool norm = true;  // before what goes out
  std::string_view heads_key = "num_heads";
};

// Dao and Gu, arXiv 2405.21060: heads share their decay, groups of heads their inputs to the state. Finds heads that do
// not make up the inner width, and groups that do not divide the heads (O0911).
workload::Recurrence mamba2(Reading& r, const Mamba2Sizes& sizes);

}  // namespace orrery::formats::huggingface
