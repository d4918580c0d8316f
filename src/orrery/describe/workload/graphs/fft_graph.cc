// Idea: Bailey's four-step transform ("FFTs in external or hierarchical memory", 1990). With S = floor(sqrt(length)),
// each step transforms S columns of S elements: a product with M = N = S whose K = floor(4 log2(S) / log2(radix) radix)
// makes its FLOP those of log_radix(S) passes, real and imaginary parts apart. Between the steps the square is
// transposed over all chips: an all-to-all of its S^2 elements, stated at the second step. The weight's size is left
// open, as DFModel does. Published lengths are squares rounded to six digits; a length further from S^2 than kRounding
// would be answered with the time of fewer points, and is refused. Cost: constant.
#include "orrery/describe/workload/graphs/fft_graph.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/describe/workload/graphs/kernel_builder.h"

namespace orrery::workload {
namespace {

using base::Count;

Count square_root(Count value) {
  Count root = base::saturated(std::sqrt(static_cast<double>(value)));
  while (root > value / root) --root;
  while (root + 1 <= value / (root + 1)) ++root;
  return root;
}

// That S^2 may fall short of the length, as a share of it.
constexpr double kRounding = 1e-5;

void demand_square(Count length, base::Diagnostics& found) {
  const Count side = square_root(length), square = side * side, missing = length - square;
  if (static_cast<double>(missing) <= kRounding * static_cast<double>(length)) return;
  Count above = 0;
  const bool fits = !__builtin_mul_overflow(side + 1, side + 1, &above);
  found.error("O1425", fmt::format("the length of the transform, {}, is not a square", length))
      .note(fmt::format("the steps transform {} columns of {} elements: {} points, {} fewer than the length", side,
                        side, square, missing))
      .hint(fits ? fmt::format("lengths that fit: {} and {}", square, above)
                 : fmt::format("a length that fits: {}", square));
}

}  // namespace

KernelGraph fft_graph(Count length, Count radix, Count word_bytes) {
  base::Diagnostics found;
  demand("the length of the transform", length, found);
  demand("the radix", radix, found);
  demand("the bytes of an element (`word`)", word_bytes, found);
  if (length >= 1 && length < 4)
    found.error("O1490", fmt::format("the length of the transform must be at least 4, but is {}", length))
        .hint("take at least 4");
  if (length >= 4) demand_square(length, found);
  if (radix == 1) found.error("O1490", "the radix must be at least 2, but is 1").hint("take at least 2");
  found.throw_if_errors();

  const Count side = square_root(length);
  CheckedSizes sizes(found);
  const auto square = static_cast<double>(sizes("the square", {{"side", side}, {"side", side}, {"bytes", word_bytes}}));
  const double passes = 4 * std::log2(static_cast<double>(side)) / std::log2(static_cast<double>(radix));
  const double depth = passes * static_cast<double>(radix);
  if (depth >= 0x1p62) sizes("the work of a column", {{"passes", static_cast<Count>(passes) + 1}, {"radix", radix}});
  found.throw_if_errors();

  const KernelSpace space{1, side, static_cast<Count>(depth), side};
  KernelGraph graph;
  graph.kernels = {weight_product("Step_1", space, square, 0, square),
                   weight_product("Step_2", space, square, 0, square)};
  for (Kernel& kernel : graph.kernels) kernel.tiling = KernelDimension::kNone;
  graph.kernels[1].communication = Communication::kAllToAll;
  graph.kernels[1].communication_bytes = square;
  graph.edges = {{.from = 0, .to = 1}};
  check_spaces(graph, found);
  found.throw_if_errors();
  return graph;
}

}  // namespace orrery::workload
