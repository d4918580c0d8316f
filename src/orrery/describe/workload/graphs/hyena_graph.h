// The graph of a Hyena layer: long convolutions by Fourier transforms in the place of attention.
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

// How a step of a transform is computed.
enum class FourierStep {
  kProduct,    // a product with the radix's matrix of roots
  kVector,     // a chain of butterflies on vector lanes, which uses as many stages of the cores
  kButterfly,  // butterflies of two, one after the other
};

struct HyenaShape {
  base::Count hidden = 0, heads = 1;  // of the projections
  base::Count ffn = 0;                // 0: 4 hidden
  base::Count tokens = 0, word_bytes = 2;
  base::Count radix = 16;  // of products and vectors
  base::Count chips = 1;   // that share the channels
  FourierStep step = FourierStep::kProduct;
};

// Throws InputError O1482 to O1486 and O1490 for sizes that cannot be.
KernelGraph hyena_graph(const HyenaShape& shape);

}  // namespace orrery::workload
