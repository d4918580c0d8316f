// FLOP of the whole workload, as the user states it: before sharding, tiling and padding.
//
// A product takes 2 outer M K N, an elementwise kernel outer M N. A graph stands for `layers_in_graph` layers of a
// language model and one sequence of its batch; for one micro-batch of DLRM; for all of HPL, of an FFT, of a
// state-space model. Source: DFModel (arXiv 2412.16432). Cost: one step per kernel.
#include <algorithm>

#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow {

double workload_flop(const Setup& setup) {
  double flop = 0;
  for (const workload::Kernel& kernel : setup.graph.kernels) {
    const double points = static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                          static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
    flop += kernel.unit == workload::KernelUnit::kSystolic ? 2 * points : points;
  }
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload))
    return flop * static_cast<double>(model->layers) / static_cast<double>(std::max<Count>(1, model->layers_in_graph)) *
           static_cast<double>(model->global_batch);
  if (const auto* dlrm = std::get_if<Recommendation>(&setup.execution.workload))
    return flop * static_cast<double>(dlrm->global_batch);
  return flop;
}

}  // namespace orrery::dataflow
