// Exact partition as a mixed-integer programme, for graphs with too many order ideals.
//
// Columns: x[k,c] whole: kernel k runs in configuration c, within its range; y[e,c] in [0, 1]: both ends of edge e do;
// interval[c]. Rows:
//   sum_c x[k,c] = 1
//   sum over c' <= c of x[u,c'] >= the same of v, for an edge u -> v: the prefix form, whose relaxation is tight
//   y <= x[u,c], y <= x[v,c], y >= x[u,c] + x[v,c] - 1; where only one end may run in c, y is 0
//   memory[c] = (sum of stream (x[u,c] + x[v,c] - 2 y) + sum of bytes x) / bandwidth, and likewise SRAM and DRAM
//   interval[c] >= its terms, or their sums, by overlap; the network's is a column where groups of chips communicate
//   beside each other, at least as long as each
// Free cores: x[k,c] = sum over choices j of z[k,c,j], sum of cores z <= the chip's, compute[c] >= sum_j ns_j z[k,c,j]
// per kernel: no big constant. A kernel that is tiled further when alone: t[k,c] <= x[k,c], x[j,c] <= 1 - t[k,c] for
// every other j, and SRAM forgives its excess where t is 1. Repeat classes: one whole column per class and
// configuration. Source: the formulation is DFModel's (arXiv 2412.16432) without its products; prefix form:
// Christofides et al. 1987.
//
// What is guaranteed. Times are scaled to about a thousand, room to one; the solver proves its bound to its tolerance,
// and the cost of the answer is that of price(): `optimal` means that the two agree to 1e-7. Among equal sums the
// answer is always the same one, not the one that partition.h's last tie-breaks name. Memory units have no rows: where
// they forbid the programme's answer, it remains a bound.
#pragma once

#include "orrery/engines/dataflow/partition/partition.h"
#include "orrery/engines/dataflow/partition/partition_space.h"

namespace orrery::dataflow {

// Whether the solver finishes the first relaxation of such a programme in seconds; it does not check the time before
// that.
bool within_reach_of_mip(const PartitionProblem& problem, const PartitionSpace& space);

// `start`: an assignment to beat, or nothing.
PartitionOptimum optimize_by_mip(const PartitionProblem& problem, const PartitionSpace& space,
                                 const PartitionLimits& limits, const std::optional<std::vector<int>>& start);

}  // namespace orrery::dataflow
