// Parameters that a class of `transformers` has beside a block's matrices and the tables of tokens and positions:
// biases of some projections, norms, token types, the transform before a masked language model's logits.
#pragma once

#include <string>

#include "orrery/formats/huggingface/families.h"
#include "orrery/workload/transformer.h"

namespace orrery::formats::huggingface {

// What config.json says about them.
struct ClassSwitches {
  bool attention_bias = false;
  bool mlp_bias = false;
  bool no_biases = false;    // OPT: `enable_bias: false`
  bool plain_norms = false;  // OPT: `layer_norm_elementwise_affine: false`, norms without parameters
  bool final_norm = true;
  base::Count token_types = 2;
  std::string architecture;  // the class; empty: the family's own for modelling language
};

// Sets `each_layer_parameters` and `outside_parameters` of a complete configuration. False where the head of
// `architecture` is not known: that of the family's own class is counted.
bool count_class_parameters(const Family& family, const ClassSwitches& switches, workload::TransformerConfig& config);

}  // namespace orrery::formats::huggingface
