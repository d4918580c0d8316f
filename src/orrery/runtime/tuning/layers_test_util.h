// Layers that tests of this floor ask about.
#pragma once

#include "orrery/runtime/tuning/layer_operators.h"

namespace orrery::tuning {

// Substation's: norms after the additions, ReLU, biases, dropout.
inline LayerOptions substation_layer(base::Count batch, base::Count length, base::Count heads = 16,
                                     base::Count width = 1024, base::Count hidden = 4096) {
  LayerOptions options;
  options.shape.batch = batch;
  options.shape.length = length;
  options.shape.heads = heads;
  options.shape.width = width;
  options.shape.hidden = hidden;
  options.shape.activation = kernels::Activation::kRelu;
  return options;
}

}  // namespace orrery::tuning
