// What communication costs on the system's network: ns per byte of the full tensor, and whole-machine exchanges.
//
// Formulas: DFModel's (arXiv 2412.16432; docs/model/dataflow.md, section "Network"); the defects of its
// generations are switches (defects.h).
#pragma once

#include "orrery/dataflow/mapping.h"

namespace orrery::dataflow {

// Chips along each dimension: those of `degrees`, or where it names none those of `system`.
std::vector<Count> network_sizes(const System& system, const Degrees& degrees);

// ns per byte of the full tensor for a group of `ranks` neighbours along `dimension`; 0 for one rank.
// `doubled`: an all-reduce done as reduce-scatter, then all-gather, one after the other.
double ns_per_byte(workload::Communication communication, const NetworkDimension& dimension, Count ranks,
                   const Defects& defects, bool doubled);

// The same for the group of `parallelism` in `system` under `degrees`: on its own dimension, or, with a
// high-bandwidth domain, on the two that it spans. 0 where the degree is 1.
double group_ns_per_byte(workload::Communication communication, const System& system, const Degrees& degrees,
                         Parallelism parallelism, const Defects& defects, bool doubled);

// An all-reduce over all chips, dimension by dimension from the first: each has to move only what the dimensions
// before it have left to a chip. ns per byte.
double machine_all_reduce_ns_per_byte(const System& system, const Degrees& degrees, const Defects& defects,
                                      bool doubled);

// Every chip sends `bytes_per_pair` to every other: the time of the slowest bisection of the network, ns.
double exchange_ns(const System& system, const Degrees& degrees, double bytes_per_pair, const Defects& defects);

}  // namespace orrery::dataflow
