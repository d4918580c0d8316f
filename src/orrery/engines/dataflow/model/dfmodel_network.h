// DFModel's own table of collectives, for `--compat`: what orrery::collective answers otherwise.
#pragma once

#include "orrery/engines/dataflow/model/mapping.h"

namespace orrery::dataflow {

// Whether `defects` bring the table back: it itself, or one of the faults that only it has.
bool table_holds(const Defects& defects);

// ns per byte of the full tensor for a group of `ranks` neighbours along `dimension`; 0 for one rank.
// `doubled`: an all-reduce done as reduce-scatter, then all-gather, one after the other.
double table_ns_per_byte(workload::Communication communication, const NetworkDimension& dimension, Count ranks,
                         const Defects& defects, bool doubled);

// The same for the group of `parallelism` in `system` under `degrees`: on its own dimension, or, with a
// high-bandwidth domain, on the two that it spans. 0 where the degree is 1.
double table_group_ns_per_byte(workload::Communication communication, const System& system, const Degrees& degrees,
                               Parallelism parallelism, const Defects& defects, bool doubled);

// An all-reduce over all chips, dimension by dimension, ns per byte.
double table_machine_ns_per_byte(const System& system, const std::vector<Count>& sizes, const Defects& defects,
                                 bool doubled);

// Every chip sends `bytes_per_pair` to every other: the time of the slowest bisection of the network, ns.
double table_exchange_ns(const System& system, const std::vector<Count>& sizes, double bytes_per_pair,
                         const Defects& defects);

}  // namespace orrery::dataflow
