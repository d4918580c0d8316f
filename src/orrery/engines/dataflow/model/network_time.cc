// The dimensions of a system's network as a fabric of orrery::collective, and what its collectives cost.
//
// A link carries b bytes a ns each way. A chip sends at most, over all its links of a dimension of q chips,
//
//   ring              2 b          two links, one to each neighbour (two to the only one, for q = 2)
//   switch            b            one link
//   fully connected   (q-1) b      a link to every other chip
//
// which is what collective::Network calls bytes_per_s. A group fills its dimension. With a high-bandwidth domain of H
// chips (three dimensions) the first dimension is a network of H chips of its own, inside of the second (the third, for
// data-parallel groups); tensor-parallel groups fill domains first, data-parallel ones take what is left of them.
// Reductions over the whole machine go from the first dimension outwards on ever smaller shards; exchanges keep all
// dimensions busy at once.
//
// All of this is affine in the bytes, since these networks neither add nor have trees: two questions make a Charge.
// Source: describe/collective/collective.cc; the meaning of b: docs/model/dataflow.md, "Network". Cost: tens of ns a
// collective.
#include "orrery/engines/dataflow/model/network_time.h"

#include <algorithm>

#include "orrery/engines/dataflow/model/dfmodel_network.h"

namespace orrery::dataflow {

namespace {

using collective::Fabric;
using collective::Group;
using collective::Operation;
using workload::Communication;

// More chips are refused (contradictions.h).
int ranks_of(Count chips) {
  return static_cast<int>(std::min<Count>(chips, kMostChips));
}

double latency_ns(const System& system, const Defects& defects) {
  return defects.no_link_latency ? 0 : system.link_latency_ns;
}

// `share` of the full tensor is what collective.h means by an operation's bytes.
Charge charge(Operation operation, const Fabric& fabric, const Group& group, double share = 1) {
  Fabric immediate = fabric;
  for (int l = 0; l < fabric.count; ++l) immediate.levels[l].latency_s = 0;
  return {collective::seconds(operation, fabric, group, 0), collective::seconds(operation, immediate, group, share)};
}

// GB/s and ns go through `collective` as they are: bytes / (GB/s) = ns.
GroupCharges charges(const Fabric& fabric, const Group& group) {
  GroupCharges result;
  if (group.ranks <= 1) return result;
  result.all_reduce = charge(Operation::kAllReduce, fabric, group);
  result.all_gather = charge(Operation::kAllGather, fabric, group);
  result.all_to_all = charge(Operation::kAllToAll, fabric, group, 1.0 / group.ranks);
  result.message = charge(Operation::kPointToPoint, fabric, group);
  return result;
}

Fabric one_level(const NetworkDimension& dimension, Count size, double latency) {
  Fabric fabric;
  fabric.count = 1;
  fabric.levels[0] = network_of(dimension, size, latency);
  return fabric;
}

Group filling(const Fabric& fabric) {
  Group group;
  for (int l = 0; l < fabric.count; ++l) {
    group.joined[l] = fabric.levels[l].size;
    group.ranks *= fabric.levels[l].size;
  }
  return group;
}

// All chips of the machine.
Fabric whole(const System& system, const std::vector<Count>& sizes, double latency) {
  Fabric fabric;
  fabric.algorithm = collective::Algorithm::kHierarchical;
  for (std::size_t j = 0; j < sizes.size(); ++j)
    fabric.levels[fabric.count++] = network_of(system.network[j], sizes[j], latency);
  return fabric;
}

GroupCharges in_domains(const System& system, const Degrees& degrees, Parallelism parallelism, double latency) {
  const bool data = parallelism == Parallelism::kData;
  Fabric fabric;
  fabric.count = 2;
  fabric.algorithm = collective::Algorithm::kHierarchical;
  fabric.levels[0] = network_of(system.network[0], system.high_bandwidth_domain, latency);
  const Group group = collective::place(fabric, ranks_of(degrees.of(parallelism)), data ? ranks_of(degrees.tensor) : 1);
  fabric.levels[1] = network_of(system.network[data ? 2 : 1], group.joined[1], latency);
  return charges(fabric, group);
}

GroupCharges by_table(const System& system, const Degrees& degrees, Parallelism parallelism, const Defects& defects,
                      bool doubled) {
  const auto rate = [&](Communication communication) {
    return Charge{0, table_group_ns_per_byte(communication, system, degrees, parallelism, defects, doubled)};
  };
  GroupCharges result = {rate(Communication::kAllReduce), rate(Communication::kAllGather),
                         rate(Communication::kAllToAll), rate(Communication::kPointToPoint)};
  const Count ranks = degrees.of(parallelism);
  if (ranks > 1 && parallelism == Parallelism::kTensor)
    result.all_reduce.start_ns = latency_ns(system, defects) * 2 * static_cast<double>(ranks - 1);
  return result;
}

}  // namespace

std::vector<Count> network_sizes(const System& system, const Degrees& degrees) {
  if (degrees.sizes.size() == system.network.size()) return degrees.sizes;
  std::vector<Count> sizes;
  for (const NetworkDimension& dimension : system.network) sizes.push_back(dimension.size);
  if (sizes.size() == 1 && sizes[0] == 0) sizes[0] = system.chips;
  return sizes;
}

collective::Network network_of(const NetworkDimension& dimension, Count size, double latency_ns) {
  collective::Network network;
  network.size = ranks_of(size);
  network.latency_s = latency_ns;
  double links = 1;
  switch (dimension.link) {
    case Link::kRing:
      network.topology = collective::Topology::kRing;
      links = 2;
      break;
    case Link::kSwitch:
      break;
    case Link::kFullyConnected:
      network.topology = collective::Topology::kFullyConnected;
      links = std::max(1, network.size - 1);
      break;
  }
  network.bytes_per_s = links * dimension.bandwidth_gb_per_s;
  return network;
}

const Charge& GroupCharges::of(Communication communication) const {
  static constexpr Charge kNothing;
  switch (communication) {
    case Communication::kNone:
      break;
    case Communication::kAllReduce:
    case Communication::kPeriodicAllReduce:
      return all_reduce;
    case Communication::kAllGather:
      return all_gather;
    case Communication::kAllToAll:
      return all_to_all;
    case Communication::kPointToPoint:
    case Communication::kBroadcast:
      return message;
  }
  return kNothing;
}

GroupCharges group_charges(const System& system, const Degrees& degrees, Parallelism parallelism,
                           const Defects& defects, bool doubled) {
  const Count ranks = degrees.of(parallelism);
  if (ranks <= 1) return {};
  if (table_holds(defects)) return by_table(system, degrees, parallelism, defects, doubled);
  const double latency = latency_ns(system, defects);
  for (const NetworkDimension& dimension : system.network) {
    if (dimension.parallelism != parallelism) continue;
    const bool spans = parallelism == Parallelism::kTensor || parallelism == Parallelism::kData;
    if (spans && system.high_bandwidth_domain > 0 && system.network.size() == 3)
      return in_domains(system, degrees, parallelism, latency);
    const Fabric fabric = one_level(dimension, ranks, latency);
    return charges(fabric, filling(fabric));
  }
  return {};
}

Charge message_charge(const System& system, const Degrees& degrees, std::size_t index, const Defects& defects) {
  const NetworkDimension& dimension = system.network[index];
  if (table_holds(defects)) return {0, 1 / dimension.bandwidth_gb_per_s};
  const Fabric fabric =
      one_level(dimension, std::max<Count>(2, network_sizes(system, degrees)[index]), latency_ns(system, defects));
  return charge(Operation::kPointToPoint, fabric, filling(fabric));
}

Charge machine_all_reduce(const System& system, const Degrees& degrees, const Defects& defects, bool doubled) {
  const std::vector<Count> sizes = network_sizes(system, degrees);
  if (table_holds(defects)) return {0, table_machine_ns_per_byte(system, sizes, defects, doubled)};
  const Fabric fabric = whole(system, sizes, latency_ns(system, defects));
  return charge(Operation::kAllReduce, fabric, filling(fabric));
}

double exchange_ns(const System& system, const Degrees& degrees, double bytes_per_pair, const Defects& defects) {
  const std::vector<Count> sizes = network_sizes(system, degrees);
  if (table_holds(defects)) return table_exchange_ns(system, sizes, bytes_per_pair, defects);
  const Fabric fabric = whole(system, sizes, latency_ns(system, defects));
  const Group group = filling(fabric);
  return collective::seconds(Operation::kAllToAll, fabric, group, bytes_per_pair * group.ranks);
}

}  // namespace orrery::dataflow
