// A backward kernel multiplies by the transpose of its forward kernel's weight, which is stored once. A chip keeps what
// either of the two reads: the union of two parts of one matrix,
//
//   bytes = forward + backward - common;  common = min(forward, backward)      parts cut along the same side, or one of
//                                                                              them whole
//                                                  forward backward / whole    parts cut along different axes
//
// The forward kernel's rows (outer, M) are what the backward one sums over (K), and the other way round; heads and
// experts (outer) stay what they are.
//
// A backward kernel belongs to the forward one of its name without `_bwd`, as in DFModel's graphs; under other names to
// the first one left whose weight is as large. Cost: kernels^2 in the worst case.
#include "orrery/engines/dataflow/model/stored_weights.h"

#include <algorithm>
#include <map>
#include <string>

namespace orrery::dataflow {
namespace {

using workload::Direction;
using workload::Kernel;
using workload::KernelDimension;

double elements(const Kernel& kernel) {
  return static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) * static_cast<double>(kernel.k);
}

enum class Cut { kNone, kRows, kColumns };  // of the forward kernel's weight

Cut cut_of(KernelDimension sharding, bool transposed) {
  if (sharding == KernelDimension::kOuter) return Cut::kRows;
  if (sharding == KernelDimension::kM) return transposed ? Cut::kColumns : Cut::kRows;
  if (sharding == KernelDimension::kK) return transposed ? Cut::kRows : Cut::kColumns;
  return Cut::kNone;
}

}  // namespace

std::vector<int> weight_twins(const workload::KernelGraph& graph) {
  const std::size_t count = graph.kernels.size();
  std::vector<int> twins(count, -1);
  std::vector<char> taken(count, 0);
  std::map<std::string, std::size_t> forward;
  const auto reads = [&](std::size_t k, Direction direction) {
    return graph.kernels[k].has_weight() && graph.kernels[k].direction == direction;
  };
  const auto pair = [&](std::size_t backward, std::size_t with) {
    if (taken[with] != 0 || elements(graph.kernels[with]) != elements(graph.kernels[backward])) return false;
    taken[with] = 1;
    twins[backward] = static_cast<int>(with);
    return true;
  };
  for (std::size_t k = 0; k < count; ++k)
    if (reads(k, Direction::kForward)) forward.emplace(graph.kernels[k].name, k);
  if (forward.empty()) return twins;
  for (std::size_t k = 0; k < count; ++k) {
    if (!reads(k, Direction::kBackward)) continue;
    std::string name = graph.kernels[k].name;
    const std::size_t suffix = name.rfind("_bwd");
    if (suffix == std::string::npos) continue;
    const auto named = forward.find(name.erase(suffix, 4));
    if (named != forward.end()) pair(k, named->second);
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (!reads(k, Direction::kBackward) || twins[k] >= 0) continue;
    for (std::size_t with = 0; with < count; ++with)
      if (reads(with, Direction::kForward) && pair(k, with)) break;
  }
  return twins;
}

double common_weight_bytes(KernelDimension forward, double forward_bytes, KernelDimension backward,
                           double backward_bytes, double whole_bytes) {
  const Cut first = cut_of(forward, false), second = cut_of(backward, true);
  const double least = std::min(forward_bytes, backward_bytes);
  if (first == second || first == Cut::kNone || second == Cut::kNone || !(whole_bytes > 0)) return least;
  return std::min(least, forward_bytes * backward_bytes / whole_bytes);
}

void store_weights_once(const workload::KernelGraph& graph, const std::vector<KernelDimension>& sharding,
                        double word_bytes, double layers, std::vector<PartitionKernel>& kernels) {
  const std::vector<int> twins = weight_twins(graph);
  const auto sharded = [&](std::size_t k) {
    return k < sharding.size() ? sharding[k] : graph.kernels[k].sharding.value_or(KernelDimension::kNone);
  };
  for (std::size_t k = 0; k < twins.size(); ++k) {
    if (twins[k] < 0) continue;
    const auto forward = static_cast<std::size_t>(twins[k]);
    const double common = common_weight_bytes(sharded(forward), kernels[forward].weight_bytes, sharded(k),
                                              kernels[k].weight_bytes, elements(graph.kernels[forward]) * word_bytes);
    kernels[k].dram_bytes = std::max(0.0, kernels[k].dram_bytes - layers * common);
  }
}

}  // namespace orrery::dataflow
