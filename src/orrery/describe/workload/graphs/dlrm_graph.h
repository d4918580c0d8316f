// A recommendation model (DLRM) in training as a graph of kernels, as DFModel's generator makes it: 3 n kernels for n
// square layers (MLPs).
#pragma once

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

struct DlrmShape {
  base::Count bottom = 0, top = 0;  // MLPs before and after the embeddings join
  base::Count width = 0;            // of every MLP, in and out
  base::Count tables = 0;           // of embeddings
  base::Count pooled_rows = 0;      // rows read from each table for each sample
  base::Count embedding = 0;        // width of a row
  base::Count micro_batch = 0;      // samples a chip takes at a time
  base::Count word_bytes = 2;
};

// MLPs forward 1 to n, backward n to 1, weight updates n to 1. The last bottom MLP reads the embeddings and exchanges
// them between all chips, its backward kernel writes and returns their gradients.
//
// Throws InputError: O1482 for sizes below 1, O1485 for products beyond 64 bits, O1486 for more than kMostKernels
// kernels.
KernelGraph dlrm_graph(const DlrmShape& shape);

}  // namespace orrery::workload
