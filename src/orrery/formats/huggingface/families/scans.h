// What families with scans, deltas and convolutions share.
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
// Of Granite's, Falcon's and Bamba's keys.
Mamba2Sizes mamba2_sizes(Reading& r, base::Count hidden, base::Count inner);

// Gated deltas (Yang et al., arXiv 2412.06464). Finds key heads that do not divide the value heads (O0912).
struct DeltaSizes {
  base::Count key_heads = 16, value_heads = 32, key_width = 128, value_width = 128;  // 0: twice a key's
};
workload::Recurrence gated_deltas(Reading& r, base::Count hidden, const DeltaSizes& absent = {});

// A gated convolution along the tokens, by `conv_L_cache` and `conv_bias`.
workload::Recurrence gated_convolution(Reading& r, base::Count hidden, base::Count absent_taps);

// A block with so many RMS norms.
workload::Block rms_block(int norms);
void finish_recurrent(Reading& r, workload::Stack stack, bool tied);

}  // namespace orrery::formats::huggingface
