// Idea: iteration i works on the trailing matrix of side = n - (i - 1) block rows and columns: M = K = side, N = block,
// 2 side^2 block FLOP. The panel of side x block elements is broadcast along the rows of chips and passed along the
// columns; both carry its bytes. Cost: one step an iteration.
#include "orrery/describe/workload/graphs/hpl_graph.h"

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {

using base::Count;

KernelGraph hpl_graph(Count n, Count block, Count word_bytes) {
  base::Diagnostics found;
  demand("the side of the matrix (`n`)", n, found);
  demand("the block size", block, found);
  demand("the bytes of an element (`word`)", word_bytes, found);
  if (n > 0 && block > 0) {
    if (n % block != 0)
      found.error("O1484", fmt::format("blocks of {} columns do not divide a matrix of side {}", block, n))
          .note(fmt::format("{} / {} leaves {}", n, block, n % block))
          .hint(block > n ? fmt::format("take a block of at most {}", n)
                          : fmt::format("sides that fit: {} and {}", n - n % block, n - n % block + block));
    demand_few("blocks", n / block, 1, found);
  }
  found.throw_if_errors();

  CheckedSizes sizes(found);
  sizes("the first panel", {{"side", n}, {"block", block}, {"bytes", word_bytes}});
  found.throw_if_errors();
  KernelGraph graph;
  const int iterations = static_cast<int>(n / block);
  for (int i = 1; i <= iterations; ++i) {
    const Count side = n - (i - 1) * block;
    const auto panel = static_cast<double>(side * block * word_bytes);
    Kernel kernel = product_of_two(fmt::format("Iteration_{}", i), {1, side, side, block}, panel, 0, panel);
    kernel.tiling = KernelDimension::kNone;
    kernel.communication = Communication::kBroadcast;
    kernel.communication_bytes = panel;
    kernel.second_communication = Communication::kPointToPoint;
    kernel.second_communication_bytes = panel;
    graph.kernels.push_back(std::move(kernel));
    if (i > 1) graph.edges.push_back({.from = i - 2, .to = i - 1});
  }
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
