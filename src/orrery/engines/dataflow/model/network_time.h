// What communication costs on the system's network, asked of orrery::collective.
//
// The bandwidth of a dimension is that of one link in one direction. What a chip can send over all its links of that
// dimension follows from the links it has: two on a ring, one to a switch, size - 1 in a fully connected group. DFModel
// has a table of its own instead (dfmodel_network.h), which stands behind `table_collectives`. The equations and where
// the two differ: docs/model/dataflow.md, "Network".
#pragma once

#include "orrery/describe/collective/collective.h"
#include "orrery/engines/dataflow/model/mapping.h"

namespace orrery::dataflow {

// Chips along each dimension: those of `degrees`, or where it names none those of `system`.
std::vector<Count> network_sizes(const System& system, const Degrees& degrees);

// One dimension of `size` chips as `collective` sees it. `latency_ns` is that of a step.
collective::Network network_of(const NetworkDimension& dimension, Count size, double latency_ns);

// A price that grows with the bytes, in ns; the networks that a system can describe have one algorithm each, so that
// it is exact.
struct Charge {
  double start_ns = 0;
  double ns_per_byte = 0;

  double ns(double bytes) const { return start_ns + bytes * ns_per_byte; }
};

// Of each collective of a group of chips, by bytes of the full tensor.
struct GroupCharges {
  Charge all_reduce, all_gather, all_to_all;
  Charge message;  // point to point, and a broadcast, which is passed on as it arrives

  const Charge& of(workload::Communication communication) const;  // kNone: nothing
};

// The group of `parallelism` in `system` under `degrees`: on its own dimension, or, with a high-bandwidth domain, on
// the two that it spans. Nothing costs anything where the degree is 1. `doubled`: an all-reduce is a reduce-scatter,
// then an all-gather; DFModel's table alone makes a difference of it.
GroupCharges group_charges(const System& system, const Degrees& degrees, Parallelism parallelism,
                           const Defects& defects, bool doubled);

// A message between neighbours along dimension `index`.
Charge message_charge(const System& system, const Degrees& degrees, std::size_t index, const Defects& defects);

// An all-reduce over all chips, dimension by dimension from the first: each has to move only what the dimensions
// before it have left to a chip.
Charge machine_all_reduce(const System& system, const Degrees& degrees, const Defects& defects, bool doubled);

// Every chip sends `bytes_per_pair` to every other, ns: all dimensions at once, the slowest decides.
double exchange_ns(const System& system, const Degrees& degrees, double bytes_per_pair, const Defects& defects);

}  // namespace orrery::dataflow
