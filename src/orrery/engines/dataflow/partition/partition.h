// The partition problem: which kernels run together on the chip, one configuration after another.
//
// The remaining problem once degrees, sharding and tile are fixed (lower.h makes it). A configuration's initiation
// interval depends only on the set of its kernels; price() is that function, and the only place where it is computed.
// The exact solvers (partition_ideals.h: dynamic programme over order ideals; partition_mip.h: mixed-integer programme)
// minimise the sum over configurations. All times are per pass over one sequence (all tiles), in ns.
//
//   compute  with a given utilisation: the sum of the kernels; with free cores: the least maximum over kernels of
//            choice.ns, with the sum of choice.cores within the chip's
//   memory   (sum of stream_bytes of edges with exactly one end inside + sum of memory_bytes) / DRAM bandwidth; where
//            the first of two memories does not hold everything, at the bandwidth of both, weighed by capacity
//   network  sum of the kernels' and, for edges, of the consumer's network_ns, beside which other groups of chips
//            communicate: their sum of beside_ns, where it is longer
//   SRAM     2 buffers of every edge with one end inside, `depth` of those with both, weights and extras. A kernel
//            alone may be tiled further by a factor of at least 2, which divides its weight and output buffers
//   units    with memory units: every buffer and weight takes whole ones, and as many as the lanes that write it (of
//            the producer; of the consumer, where the producer is outside), or stages * H / W where it is
//            stage-parallel
//   interval max(all) | max(compute, memory) + network | compute + memory + network
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/certificate.h"
#include "orrery/engines/dataflow/model/setup.h"

namespace orrery::dataflow {

// A way to run a kernel on `lanes` x `stages` = `cores` cores. Choices are listed by rising cores, falling time.
struct CoreChoice {
  Count cores = 1;
  Count lanes = 1, stages = 1;
  double ns = 0;
};

struct PartitionKernel {
  double compute_ns = 0;            // with a given utilisation
  std::vector<CoreChoice> choices;  // with free cores; none: it does not fit the chip
  double memory_bytes = 0;          // streamed per pass in addition to the edges
  double network_ns = 0;
  double beside_ns = 0;     // on another group's links, at the same time as any kernel's network_ns
  double weight_bytes = 0;  // in SRAM while its configuration runs
  double sram_extra_bytes = 0;
  double dram_bytes = 0;          // resident in DRAM whatever the partition: weights of the stage's layers
  int repeat_class = 0;           // kernels of different classes never share a configuration (`num_input`)
  int first = 0, last = 0;        // allowed configurations, both inclusive; equal when pinned
  bool can_split_weight = false;  // alone in a configuration, its weight and output may be tiled further
};

struct PartitionEdge {
  int from = 0, to = 0;
  double buffer_bytes = 0;    // one buffer, one tile
  Count depth = 2;            // buffers when both ends are in one configuration
  double stream_bytes = 0;    // per pass, when cut: written at one end, read at the other
  double resident_bytes = 0;  // in DRAM while alive across a cut
  double network_ns = 0;      // conversion of layouts, counted at the consumer
  bool stage_parallel = false;
};

struct PartitionProblem {
  // Where each configuration has a tiling of its own: the problem under each of them, all of the same kernels and
  // edges; a configuration costs the least cost of the tilings that fit. The other fields then bound every one of them.
  std::vector<PartitionProblem> tilings;
  std::vector<PartitionKernel> kernels;
  std::vector<PartitionEdge> edges;
  int configurations = 1;
  Overlap overlap = Overlap::kPerfect;
  bool use_compute = true, use_memory = true, use_network = true;  // terms that enter the interval
  bool free_cores = false;
  Count cores = 0;
  double dram_bandwidth_gb_per_s = 0;
  double sram_bytes = 0;  // 0: not checked
  double dram_bytes = 0;  // capacity left for weights and cut edges; 0: not checked
  // A second memory holds what the first does not, and slows all traffic to `mixed_bandwidth_gb_per_s`, no faster than
  // the first's; 0: there is none.
  double second_dram_bytes = 0, mixed_bandwidth_gb_per_s = 0;
  Count memory_units = 0;  // 0: SRAM is one pool
  double memory_unit_bytes = 0;
  Count systolic_width = 1, systolic_height = 1;  // W, H of a core: a stage-parallel buffer needs stages * H / W units
};

// What a configuration takes whose parts take so long, as they overlap.
inline double interval_ns(const PartitionProblem& problem, double compute_ns, double memory_ns, double network_ns) {
  if (!problem.use_compute) compute_ns = 0;
  if (!problem.use_memory) memory_ns = 0;
  if (!problem.use_network) network_ns = 0;
  switch (problem.overlap) {
    case Overlap::kPerfect:
      return std::max({compute_ns, memory_ns, network_ns});
    case Overlap::kComputeMemory:
      return std::max(compute_ns, memory_ns) + network_ns;
    case Overlap::kNone:
      break;
  }
  return compute_ns + memory_ns + network_ns;
}

enum class Binding { kNothing, kCompute, kMemory, kNetwork };

struct ConfigurationCost {
  std::vector<int> kernels;  // ascending
  double compute_ns = 0, memory_ns = 0, network_ns = 0, interval_ns = 0;
  Binding bound = Binding::kNothing;
  double sram_bytes = 0;   // of all buffers, weights and extras
  double dram_bytes = 0;   // resident at that time, weights included
  int tiling = -1;         // index into `tilings`; -1: there are none
  Count weight_split = 1;  // the tiling factor of a kernel alone
  Count cores = 0;         // in use, with free cores
  Count memory_units = 0;
  std::vector<CoreChoice> choices;  // per kernel of `kernels`, with free cores
  bool fits = true;                 // SRAM, cores, memory units
};

// `problem` with the first memory alone, and with both taken for one.
PartitionProblem within_first_dram(PartitionProblem problem);
PartitionProblem across_both_drams(PartitionProblem problem);

// Price of running `members` (ascending) as one configuration, within the first memory; empty sets cost nothing.
ConfigurationCost price(const PartitionProblem& problem, std::span<const int> members);

struct PartitionCost {
  std::vector<ConfigurationCost> configurations;
  double sum_interval_ns = 0;
  bool feasible = true;         // order, ranges, classes, SRAM, cores, DRAM
  bool in_second_dram = false;  // the first memory does not hold everything
  std::string first_violation;  // in words, when not
};

// Price of a whole assignment, kernel -> configuration.
PartitionCost price(const PartitionProblem& problem, const std::vector<int>& assignment);

struct PartitionLimits : base::Limits {
  double gap = 0;   // stop when proven within this share of the optimum
  bool mip = true;  // false: where the dynamic programme gives up, the quick answer is returned with its gap
  std::size_t most_ideals = 100'000;  // beyond it the MIP replaces the dynamic programme
  double upper_bound_ns = 0;          // sums at or above it need not be found; 0: none
  bool near_bound = false;            // the least sum is just below that: no start is sought
  bool any_of_equals = false;         // ties are not broken
};

struct PartitionOptimum {
  std::optional<std::vector<int>> assignment;  // nothing: none found
  PartitionCost cost;
  base::Certificate certificate;  // in ns
  bool infeasible = false;        // proven
  bool interrupted = false;
  bool gave_way = false;    // more than `most_ideals`, and no MIP allowed: neither proven nor interrupted
  bool ties_broken = true;  // false: too many equal sums; deterministic, but not by the rule of optimize()
  std::string method;       // "order ideals", "mixed-integer programme", "fixed"
};

// Least sum of intervals; ties (relative 1e-12) broken by fewer non-empty configurations, then least maximum of SRAM,
// then the lexicographically first assignment in kernel order, as long as ties can be listed (`ties_broken`). The
// answer does not depend on threads. The graph must be acyclic.
PartitionOptimum optimize(const PartitionProblem& problem, const PartitionLimits& limits = {});

}  // namespace orrery::dataflow
