// Idea: DFModel's chains. With n MLPs of width x width on micro_batch samples, kernel i is the forward of MLP i, n + i
// the backward of MLP n + 1 - i, 2 n + i its weight update. The update of MLP i reads what MLP i - 1 made forward
// (i -> 3 n - i) and the gradient that the backward of MLP i + 1 passed on (n + i -> 2 n + i + 1); the update of MLP n
// has no gradient and that of MLP 1 no input, which are not kernels here. Cost: one step a kernel and edge.
#include "orrery/describe/workload/graphs/dlrm_graph.h"

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {

using base::Count;

KernelGraph dlrm_graph(const DlrmShape& shape) {
  base::Diagnostics found;
  demand("the number of bottom MLPs", shape.bottom, found);
  demand("the number of top MLPs", shape.top, found);
  demand("the width of the MLPs", shape.width, found);
  demand("the number of tables", shape.tables, found);
  demand("the pooled rows", shape.pooled_rows, found);
  demand("the width of an embedding", shape.embedding, found);
  demand("the microbatch", shape.micro_batch, found);
  demand("the bytes of an element (`word`)", shape.word_bytes, found);
  demand_few("bottom MLPs", shape.bottom, 3, found);
  demand_few("top MLPs", shape.top, 3, found);
  found.throw_if_errors();
  demand_few("MLPs", shape.bottom + shape.top, 3, found);

  CheckedSizes sizes(found);
  const Count x = shape.width, batch = shape.micro_batch, w = shape.word_bytes;
  const auto activation =
      static_cast<double>(sizes("an activation", {{"width", x}, {"microbatch", batch}, {"bytes", w}}));
  const auto weight = static_cast<double>(sizes("a weight", {{"width", x}, {"width", x}, {"bytes", w}}));
  const auto embeddings = static_cast<double>(sizes("the embeddings", {{"tables", shape.tables},
                                                                       {"pooled rows", shape.pooled_rows},
                                                                       {"embedding", shape.embedding},
                                                                       {"microbatch", batch},
                                                                       {"bytes", w}}));
  found.throw_if_errors();

  const int n = static_cast<int>(shape.bottom + shape.top);
  const auto mlp = [&](int number, Direction direction) {
    const bool forward = direction == Direction::kForward;
    Kernel kernel = weight_product(fmt::format("MLP_{}{}", number, forward ? "" : "_bwd"), {1, x, x, batch}, activation,
                                   weight, activation);
    kernel.direction = direction;
    kernel.tiling = KernelDimension::kNone;
    if (number == shape.bottom) {
      kernel.communication = Communication::kAllToAll;
      kernel.communication_bytes = embeddings;
      kernel.memory_bytes = embeddings;
    }
    return kernel;
  };
  KernelGraph graph;
  for (int number = 1; number <= n; ++number) graph.kernels.push_back(mlp(number, Direction::kForward));
  for (int number = n; number >= 1; --number) graph.kernels.push_back(mlp(number, Direction::kBackward));
  for (int number = n; number >= 1; --number) {
    Kernel kernel = product_of_two(fmt::format("MLP_{}_bwd_weight_update", number), {1, x, batch, x}, activation,
                                   activation, weight);
    kernel.direction = Direction::kBackward;
    kernel.tiling = KernelDimension::kNone;
    kernel.communication = Communication::kPeriodicAllReduce;
    kernel.communication_bytes = weight;
    graph.kernels.push_back(std::move(kernel));
  }
  const auto join = [&](int from, int to) { graph.edges.push_back({.from = from - 1, .to = to - 1}); };
  for (int i = 1; i < n; ++i) join(i, i + 1);
  for (int i = n + 1; i < 2 * n; ++i) join(i, i + 1);
  for (int i = 1; i < n; ++i) join(i, 3 * n - i);
  for (int i = n + 1; i < 2 * n; ++i) join(i, i + n + 1);
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
