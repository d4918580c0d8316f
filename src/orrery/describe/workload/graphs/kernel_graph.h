// A dataflow graph of kernels: what `place` shards over accelerators and fuses on each.
//
// Every kernel is a matrix product or an elementwise operation over the index space outer x M x N (x K, summed over).
// Edges carry the whole output of one kernel to another. Sizes are of the unsharded graph; bytes are doubles because
// they come as floating point from users and can exceed any integer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::workload {

enum class KernelUnit { kSystolic, kSimd };  // matrix units or vector lanes
enum class Direction { kForward, kBackward };

// Where its operands come from: weights from memory, inputs over edges.
enum class Operands { kInputAndWeight, kTwoInputs, kOneElementwise, kTwoElementwise };

// A dimension of a kernel's index space that is split: over chips (sharding) or over time (tiling).
enum class KernelDimension { kOuter, kM, kK, kN, kNone };

enum class Communication {
  kNone,
  kAllReduce,
  kAllToAll,
  kAllGather,
  kPeriodicAllReduce,  // once per batch, of gradients over data-parallel replicas
  kPointToPoint,
  kBroadcast,
};

struct Kernel {
  std::string name;
  KernelUnit unit = KernelUnit::kSystolic;
  Direction direction = Direction::kForward;
  Operands operands = Operands::kTwoInputs;
  base::Count outer = 1, m = 1, k = 1, n = 1;  // k is 1 for elementwise kernels

  double input_bytes = 0;   // of the first input; 0: not stated
  double second_bytes = 0;  // of the weight or the second input; 0: not stated, or there is none
  double output_bytes = 0;

  std::optional<KernelDimension> sharding;  // pinned by the user
  KernelDimension tiling = KernelDimension::kNone;
  Communication communication = Communication::kNone;  // pinned by the user
  double communication_bytes = 0;
  Communication second_communication = Communication::kNone;
  double second_communication_bytes = 0;

  int configuration = -1;            // pinned to this one, from 0; -1: free
  double memory_bytes = 0;           // more DRAM traffic per pass than its edges cause
  base::Count inputs = 0;            // `num_input`: repeats per pass; 0: not stated
  bool skip_weight = false;          // its weight takes no room
  base::Count effective_stages = 0;  // `use_effective_stage`: FFT-like kernels that use so many stages; 0: no
  double sram_extra_bytes = 0;
  double dram_extra_bytes = 0;
  std::optional<double> compute_utilization;          // of the chip's peak, in the place of the execution's
  base::Count shard_m = 0, shard_k = 0, shard_n = 0;  // its part of one chip, outer * M as one; 0: not stated

  bool has_weight() const { return operands == Operands::kInputAndWeight && !skip_weight; }
  bool is_product() const { return operands == Operands::kInputAndWeight || operands == Operands::kTwoInputs; }
};

struct KernelEdge {
  int from = 0, to = 0;                                // indices into KernelGraph::kernels
  Communication communication = Communication::kNone;  // pinned by the user
  double communication_bytes = 0;
  bool zero_out = false;        // its buffer takes no room
  bool stage_parallel = false;  // the buffer is split over stages, not lanes
  Communication second_communication = Communication::kNone;
  base::Count buffer_depth = 0;                     // tiles it holds; 0: not stated
  double tensor_bytes = 0, shard_tensor_bytes = 0;  // 0: not stated
};

struct KernelGraph {
  std::vector<Kernel> kernels;
  std::vector<KernelEdge> edges;

  bool has_backward() const;
};

// Kernels in topological order, the lowest index first among equals; those on cycles and behind them are left out.
std::vector<int> topological_order(const KernelGraph& graph);

// Longest-path level of every kernel, sources 0. The graph must be acyclic.
std::vector<int> levels(const KernelGraph& graph);

// The kernels of one cycle, along its edges and from the lowest index, or nothing if the graph is acyclic.
std::vector<int> find_cycle(const KernelGraph& graph);

}  // namespace orrery::workload
