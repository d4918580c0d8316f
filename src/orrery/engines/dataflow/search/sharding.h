// Inter-chip: which dimension of every kernel is split over the tensor-parallel chips.
//
// An edge's layout at its producer and at its consumer follow from their shardings; where they differ, the tensor is
// converted (all-gather or all-to-all), and a product that is split along K reduces its output (all-reduce).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/engines/dataflow/model/mapping.h"

namespace orrery::dataflow {

enum class TensorLayout { kReplicated, kRowSharded, kColumnSharded };  // RR, SR, RS

struct EdgeConversion {
  workload::Communication communication = workload::Communication::kNone;
  double bytes = 0;  // of the full tensor
};

TensorLayout producer_layout(const workload::Kernel& producer, workload::KernelDimension sharding);
TensorLayout consumer_layout(const workload::KernelGraph& graph, const workload::KernelEdge& edge,
                             workload::KernelDimension consumer_sharding);
EdgeConversion conversion(const workload::KernelGraph& graph, const workload::KernelEdge& edge,
                          workload::KernelDimension producer_sharding, workload::KernelDimension consumer_sharding);

// Why the sharding that kernel `index` is pinned to is impossible (O1440); nothing where it is not, or there is no pin.
std::optional<base::Diagnostic> sharding_contradiction(const workload::KernelGraph& graph, int index);

// Shardings that kernel `index` may have: pins, sizes of one, tiled dimensions and weights considered. Never empty
// unless a pin contradicts them.
std::vector<workload::KernelDimension> allowed_shardings(const workload::KernelGraph& graph, int index);

struct ShardingOptimum {
  std::vector<workload::KernelDimension> sharding;  // per kernel
  double communication_ns = 0;                      // on the network, per pass over the full tensors
  double communication_bytes = 0;                   // full tensors
  base::Certificate certificate;
  std::string rule;  // where it came from: "pinned", "reference table", "optimised", "joint", "not sharded"
};

// The sharding of every kernel of a language model's graph: pins hold; with `published_shardings`, graphs of the
// reference shape take its table. Otherwise, least communication time on the network (bytes with `fewest_bytes`); then
// least FLOP of a chip, least bytes of its buffers, and the first in the order outer, M, K, N, none, kernel by kernel.
// Throws O1440 for pins that contradict their kernels. State-space models are sharded, too; other workloads keep their
// pins and are not sharded otherwise. `certificate` is on bytes or ns, as minimised.
ShardingOptimum choose_sharding(const Setup& setup, const Degrees& degrees, const Defects& defects,
                                const base::Budget& budget = {});

// What `sharding`, chosen together with the partition, communicates.
ShardingOptimum communication_of(const Setup& setup, const Degrees& degrees,
                                 std::vector<workload::KernelDimension> sharding, const Defects& defects);

}  // namespace orrery::dataflow
