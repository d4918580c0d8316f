// Exact partition by dynamic programming over order ideals.
//
// Idea. A schedule is a chain of down-sets of the graph, empty = I_0 <= I_1 <= ... <= I_C = all, and configuration c
// costs what the set I_c \ I_(c-1) costs, so
//   V_c(I) = min over J <= I of V_(c-1)(J) + cost(I \ J).
// A transformer has few ideals (26 for a forward layer, 1146 for its backward pass): the sums are exact in
// milliseconds where a general solver needs minutes. Source: the structure is that of scheduling with precedence
// constraints (Held and Karp 1962; Schrage and Baker 1978); the pruning below is new.
//
// What is not visited. Sets whose weights and buffers exceed SRAM (more kernels never need less, where no edge has a
// depth below two), sets that mix repeat classes or leave a range, states that leave more weights or cores than the
// configurations left can hold, and states that cannot beat the incumbent: the value so far and the compute, memory and
// network work still to do, each of which every completion pays. The incumbent is the best chain along one order of the
// kernels (partition_chain.h).
//
// Leaves, kernels that nothing reads (a weight update), multiply ideals: n of them by up to 2^n. Where many states
// remain, a second bound comes from the graph without its leaves, whose dynamic programme is solved backwards and
// exactly: from every ideal of that core, the least sum to the end. Leaves only add to it. On four transformer layers
// backward (92 kernels, 24 leaves) it leaves 10,000 sets to price where CBC takes seconds.
//
// Two sweeps. The first looks for sums below the incumbent's, and so proves the least sum; the second lists every chain
// within a tie of it and picks the answer by partition.h's rule. Ties can outnumber everything else: the second sweep
// has a limit, and beyond it the first answer is kept (`ties_broken`).
//
// Cost: at most C * (pairs of ideals) set lookups; each distinct set is priced once.
#pragma once

#include <optional>

#include "orrery/engines/dataflow/partition/partition.h"
#include "orrery/engines/dataflow/partition/partition_space.h"

namespace orrery::dataflow {

// Nothing when the graph has more than `limits.most_ideals` ideals that matter (or more transitions than they allow).
// Exact to the last tie (partition.h).
std::optional<PartitionOptimum> optimize_by_ideals(const PartitionProblem& problem, const PartitionSpace& space,
                                                   const PartitionLimits& limits);

}  // namespace orrery::dataflow
