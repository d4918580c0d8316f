// The part of every kernel's index space that one chip computes in one tile.
//
// Language and state-space models, TP chips, T tiles (docs/model/dataflow.md, "Shards"):
//
//   m = ceil(outer M / TP) when outer or M is sharded, else outer M; M ceil(outer / TP) where each of `outer` is a
//       product with a weight of its own on an input of its own (experts), which are not cut
//   k = ceil(K / TP) when K is, n = ceil(N / TP) when N is
//   the tiled dimension (mostly N, the tokens) is divided by the sequence-parallel degree, then by T, rounded up
//
// HPL on X x Y chips: m = ceil(M / X), k = ceil(K / Y). FFT: n = ceil(N / chips). DLRM: every chip has all kernels.
//
// A part that the user states is what one chip has, whatever the sharding and the sequence-parallel degree; tiles
// divide it like any other.
//
// Source: DFModel (arXiv 2412.16432) and its logs. outer M is the only product of users' sizes that is kept as an
// integer; beyond 64 bits it is refused (O1431). Cost: one step per kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

namespace {

using workload::Kernel;
using workload::KernelDimension;

Count split(Count size, Count parts) {
  return base::ceil_divide(size, std::max<Count>(1, parts));
}

KernelDimension sharding_of(const Mapping& mapping, const Kernel& kernel, std::size_t index) {
  if (index < mapping.sharding.size()) return mapping.sharding[index];
  return kernel.sharding.value_or(KernelDimension::kNone);
}

// The dimension of `shard` that is tiled, or nothing.
Count* tiled(const Kernel& kernel, Shard& shard) {
  switch (kernel.tiling) {
    case KernelDimension::kOuter:
    case KernelDimension::kM:
      return &shard.m;
    case KernelDimension::kK:
      return &shard.k;
    case KernelDimension::kN:
      return &shard.n;
    case KernelDimension::kNone:
      break;
  }
  return nullptr;
}

// Products side by side that share no operand: the input has rows for each of them.
bool shares_nothing(const Kernel& kernel) {
  if (kernel.operands != workload::Operands::kInputAndWeight || kernel.outer < 2 || !(kernel.input_bytes > 0))
    return false;
  const double input = kernel.input_bytes * static_cast<double>(kernel.m),
               output = kernel.output_bytes * static_cast<double>(kernel.k);
  return std::abs(input - output) <= 1e-6 * output;
}

// Kernels of which a chip has whole instances: such products, and what is elementwise beside them.
std::vector<char> uncut_kernels(const workload::KernelGraph& graph) {
  std::vector<char> uncut;
  for (const Kernel& kernel : graph.kernels) uncut.push_back(shares_nothing(kernel) ? 1 : 0);
  const std::vector<char> products = uncut;
  for (const workload::KernelEdge& edge : graph.edges) {
    const auto from = static_cast<std::size_t>(edge.from), to = static_cast<std::size_t>(edge.to);
    if (graph.kernels[from].outer != graph.kernels[to].outer) continue;
    if (products[from] && !graph.kernels[to].is_product()) uncut[to] = 1;
    if (products[to] && !graph.kernels[from].is_product()) uncut[from] = 1;
  }
  return uncut;
}

Shard tensor_parallel(const Kernel& kernel, KernelDimension sharding, Shard whole, const Degrees& degrees, bool uncut) {
  Shard shard = whole;
  if (uncut && sharding == KernelDimension::kOuter)
    shard.m = kernel.m * split(kernel.outer, degrees.tensor);
  else if (sharding == KernelDimension::kOuter || sharding == KernelDimension::kM)
    shard.m = split(shard.m, degrees.tensor);
  if (sharding == KernelDimension::kK) shard.k = split(shard.k, degrees.tensor);
  if (sharding == KernelDimension::kN) shard.n = split(shard.n, degrees.tensor);
  if (Count* size = tiled(kernel, shard)) *size = split(*size, degrees.sequence);
  return shard;
}

void take_stated(const Kernel& kernel, Shard& shard) {
  if (kernel.shard_m > 0) shard.m = kernel.shard_m;
  if (kernel.shard_k > 0) shard.k = kernel.shard_k;
  if (kernel.shard_n > 0) shard.n = kernel.shard_n;
}

}  // namespace

bool stated_parts_hold(const Setup& setup, const Defects& defects) {
  return !defects.shards_computed_anew || setup.execution.skip_inter_chip;
}

std::vector<Shard> shards(const Setup& setup, const Mapping& mapping, const Defects& defects) {
  const Workload& workload = setup.execution.workload;
  std::vector<Count> grid = network_sizes(setup.system, mapping.degrees);
  if (grid.empty()) grid.push_back(1);
  Count columns = 1;  // of HPL's grid: all that is not its first dimension
  base::Diagnostics found;
  for (std::size_t j = 1; j < grid.size(); ++j)
    if (__builtin_mul_overflow(columns, grid[j], &columns))
      found.error("O1431", "the system has too many chips to count")
          .note("the product of the network's sizes exceeds 2^63 - 1");
  std::vector<Shard> result;
  result.reserve(setup.graph.kernels.size());
  const std::vector<char> uncut = uncut_kernels(setup.graph);
  for (std::size_t i = 0; i < setup.graph.kernels.size(); ++i) {
    const Kernel& kernel = setup.graph.kernels[i];
    Shard shard{0, kernel.k, kernel.n};
    if (__builtin_mul_overflow(kernel.outer, kernel.m, &shard.m)) {
      found.error("O1431", fmt::format("kernel `{}` is too large to count", kernel.name))
          .note(fmt::format("outer {} * M {} exceeds 2^63 - 1", kernel.outer, kernel.m));
      continue;
    }
    if (std::holds_alternative<Linpack>(workload)) {
      shard.m = split(shard.m, grid[0]);
      shard.k = split(shard.k, columns);
    } else if (std::holds_alternative<FourierTransform>(workload)) {
      shard.n = split(shard.n, setup.system.chips);
    } else if (!std::holds_alternative<Recommendation>(workload)) {
      shard = tensor_parallel(kernel, sharding_of(mapping, kernel, i), shard, mapping.degrees, uncut[i] != 0);
    }
    if (stated_parts_hold(setup, defects)) take_stated(kernel, shard);
    if (Count* size = tiled(kernel, shard)) *size = split(*size, mapping.tiles);
    result.push_back(shard);
  }
  found.throw_if_errors();
  return result;
}

}  // namespace orrery::dataflow
