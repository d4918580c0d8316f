// Idea: one function a form of kernel, so that a generator reads like the table of kernels it comes from.
#include "orrery/describe/workload/graphs/kernel_builder.h"

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::workload {
namespace {

using base::Count;

Kernel kernel(std::string name, KernelUnit unit, Operands operands, KernelSpace space) {
  Kernel out;
  out.name = std::move(name);
  out.unit = unit;
  out.operands = operands;
  out.outer = space.outer;
  out.m = space.m;
  out.k = space.k;
  out.n = space.n;
  out.tiling = KernelDimension::kN;
  return out;
}

Kernel sized(Kernel kernel, double input, double second, double output) {
  kernel.input_bytes = input;
  kernel.second_bytes = second;
  kernel.output_bytes = output;
  return kernel;
}

}  // namespace

Kernel weight_product(std::string name, KernelSpace space, double input, double weight, double output) {
  return sized(kernel(std::move(name), KernelUnit::kSystolic, Operands::kInputAndWeight, space), input, weight, output);
}

Kernel product_of_two(std::string name, KernelSpace space, double first, double second, double output) {
  return sized(kernel(std::move(name), KernelUnit::kSystolic, Operands::kTwoInputs, space), first, second, output);
}

Kernel elementwise(std::string name, KernelSpace space, double input, double output) {
  return sized(kernel(std::move(name), KernelUnit::kSimd, Operands::kOneElementwise, space), input, 0, output);
}

Kernel elementwise_of_two(std::string name, KernelSpace space, double first, double second, double output) {
  return sized(kernel(std::move(name), KernelUnit::kSimd, Operands::kTwoElementwise, space), first, second, output);
}

Count CheckedSizes::operator()(const char* what, Factors factors) {
  Count product = 1;
  bool fits = true;
  std::string arithmetic;
  for (const auto& [name, value] : factors) {
    arithmetic += fmt::format("{}{} ({})", arithmetic.empty() ? "" : " x ", value, name);
    fits = fits && !__builtin_mul_overflow(product, value, &product);
  }
  if (fits) return product;
  found_.error("O1485", fmt::format("{} cannot be counted in 64 bits", what))
      .note(arithmetic + " exceeds 9223372036854775807");
  return 1;
}

void demand(const char* name, Count value, base::Diagnostics& found, Count least) {
  if (value < least) found.error("O1482", fmt::format("{} must be at least {}, but is {}", name, least, value));
}

void demand_few(const char* what, Count copies, Count each, base::Diagnostics& found) {
  Count kernels = 0;
  if (!__builtin_mul_overflow(copies, each, &kernels) && kernels <= kMostKernels) return;
  found.error("O1486", fmt::format("the graph would have more than {} kernels", kMostKernels))
      .note(fmt::format("{}: {}, of {} kernel{} each", what, copies, each, base::plural(each)));
}

void check_spaces(const KernelGraph& graph, base::Diagnostics& found) {
  CheckedSizes sizes(found);
  for (const Kernel& kernel : graph.kernels) {
    if (found.has_errors()) return;
    sizes(fmt::format("the work of kernel `{}`", kernel.name).c_str(),
          {{"FLOP each", 2}, {"outer", kernel.outer}, {"M", kernel.m}, {"K", kernel.k}, {"N", kernel.n}});
  }
}

void connect(KernelGraph& graph, std::span<const std::pair<int, int>> numbers) {
  for (const auto& [from, to] : numbers) graph.edges.push_back({.from = from - 1, .to = to - 1});
}

}  // namespace orrery::workload
