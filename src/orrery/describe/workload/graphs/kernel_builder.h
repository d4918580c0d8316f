// What the generators of kernel graphs share: kernels by operand form, checked sizes, edges.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::workload {

// Far more than could be partitioned; generators check it before they build anything.
inline constexpr base::Count kMostKernels = 100'000;

struct KernelSpace {
  base::Count outer = 1, m = 1, k = 1, n = 1;
};

// Sizes in bytes: first input, second input or weight, output. Tiled along N unless changed afterwards.
Kernel weight_product(std::string name, KernelSpace space, double input, double weight, double output);
Kernel product_of_two(std::string name, KernelSpace space, double first, double second, double output);
Kernel elementwise(std::string name, KernelSpace space, double input, double output);
Kernel elementwise_of_two(std::string name, KernelSpace space, double first, double second, double output);

// A product of named sizes; one that does not fit 64 bits is reported in `found` as O1485.
class CheckedSizes {
 public:
  using Factors = std::initializer_list<std::pair<const char*, base::Count>>;

  explicit CheckedSizes(base::Diagnostics& found) : found_(found) {}
  base::Count operator()(const char* what, Factors factors);

 private:
  base::Diagnostics& found_;
};

// O1482 where a size is below `least`.
void demand(const char* name, base::Count value, base::Diagnostics& found, base::Count least = 1);

// O1486 where a graph of `each` kernels, `copies` times over, is more than kMostKernels.
void demand_few(const char* what, base::Count copies, base::Count each, base::Diagnostics& found);

// O1485 for the first kernel whose FLOP (two a multiply-accumulate) do not fit 64 bits.
void check_spaces(const KernelGraph& graph, base::Diagnostics& found);

// Edges by the numbers of kernels, which count from 1.
void connect(KernelGraph& graph, std::span<const std::pair<int, int>> numbers);

}  // namespace orrery::workload
