// DFModel's collectives on rings, switches and fully connected groups, and on hierarchies of them.
//
// Groups. One dimension holds the q ranks of a group; a collective of the full tensor takes, in ns per byte,
//
//                    ring          switch        fully connected
//   all-reduce       (q-1)/(q b)   (q-1)/(q b)   1/(q b)          twice when reduce-scatter and all-gather are separate
//   all-gather       (q-1)/(q b)   (q-1)/(q b)   1/(q b)
//   all-to-all       q^2/(8 b)     q/(4 b)       1/b
//   point to point   1/b           1/b           1/b
//
// The rows do not agree with each other: an all-reduce takes as long as the all-gather that is half of it, a ring's
// all-gather uses one of the two directions that its all-reduce uses, and all-to-alls take the full tensor for the
// message of a pair. A high-bandwidth domain of H chips (three dimensions) reduces within the domain on the first
// dimension, then between domains: (H-1)/(H b_x) + (q/H-1)/(q b_far).
//
// Whole machine. Of N chips each sends a message to every other. Messages that cross the middle of a dimension pass its
// bisection: time = max over dimensions of bytes * messages / (b * links), with N(N-1)/2 messages and links ring 2,
// switch size, fully connected size(size-1)/2. Without `one_group_exchange` every one of the N/size parallel groups of
// a dimension contributes its links; with it, the groups of some topologies only, and fewer messages on inner
// dimensions, row by row. Source: DFModel (arXiv 2412.16432) and its logs. Cost: a constant per question.
#include "orrery/engines/dataflow/model/dfmodel_network.h"

#include <algorithm>
#include <string_view>

namespace orrery::dataflow {

namespace {

using workload::Communication;

bool reduces(Communication communication) {
  return communication == Communication::kAllReduce || communication == Communication::kPeriodicAllReduce;
}

// How often an all-reduce's bytes pass.
double passes(const Defects& defects, bool doubled) {
  return defects.doubled_all_reduce || doubled ? 2 : 1;
}

// "r", "sw" and "fc" joined by "_": the name that DFModel gives to the topology.
std::string topology_name(const System& system) {
  std::string name;
  for (const NetworkDimension& dimension : system.network) {
    if (!name.empty()) name += '_';
    name += dimension.link == Link::kRing ? "r" : dimension.link == Link::kSwitch ? "sw" : "fc";
  }
  return name;
}

// An exchange over one dimension: messages, and the links that they are spread over.
struct Transfer {
  double messages = 0;
  double links = 0;  // zero or less: never the slowest (`negative_bisection`)
};

double pairs(double n) {
  return n * (n - 1) / 2;
}

double links_of_group(Link link, double size) {
  if (link == Link::kRing) return 2;
  if (link == Link::kSwitch) return size;
  return pairs(size);
}

std::vector<Transfer> transfers(const System& system, const std::vector<Count>& sizes, double chips) {
  std::vector<Transfer> result;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    const double size = sizes[j];
    if (size <= 1) continue;
    result.push_back({pairs(chips), links_of_group(system.network[j].link, size) * (chips / size)});
    result.back().links *= system.network[j].bandwidth_gb_per_s;
  }
  return result;
}

// DFModel's table; empty for topologies that it does not have.
std::vector<Transfer> transfers_of_dfmodel(const System& system, const std::vector<Count>& sizes, double n,
                                           const Defects& defects) {
  const std::string name = topology_name(system);
  const double x = sizes[0];
  const double y = sizes.size() > 1 ? sizes[1] : 1;
  const double z = sizes.size() > 2 ? sizes[2] : 1;
  const double all = defects.squared_exchange ? n * n / 2 : pairs(n);
  const auto connected = [&](double size) { return defects.squared_exchange ? size * size / 4 : pairs(size); };
  std::vector<Transfer> rows;
  if (name == "r") rows = {{all, 2}};
  if (name == "sw") rows = {{all, x}};
  if (name == "fc") rows = {{all, connected(x)}};
  if (name == "r_r") rows = {{all, 2 * x}, {all, 2 * y}};
  if (name == "fc_fc") rows = {{pairs(x), connected(x)}, {all, connected(y)}};
  if (name == "r_fc") rows = {{pairs(x), 2}, {all, defects.negative_bisection ? -y * y / 2 : pairs(y)}};
  if (name == "r_sw") rows = {{pairs(x), 2}, {all, y}};
  if (name == "sw_sw") rows = {{pairs(x), x}, {all, y}};
  if (name == "r_r_r") rows = {{all, 2 * x * y}, {all, 2 * x * z}, {all, 2 * y * z}};
  if (name == "r_sw_sw") rows = {{pairs(x), 2}, {pairs(x * y), y}, {all, z}};
  if (name == "sw_sw_sw") rows = {{pairs(x), x}, {pairs(x * y), y}, {all, z}};
  for (std::size_t j = 0; j < rows.size(); ++j) rows[j].links *= system.network[j].bandwidth_gb_per_s;
  return rows;
}

const NetworkDimension* dimension_of(const System& system, Parallelism parallelism) {
  for (const NetworkDimension& dimension : system.network)
    if (dimension.parallelism == parallelism) return &dimension;
  return nullptr;
}

}  // namespace

bool table_holds(const Defects& defects) {
  return defects.table_collectives || defects.doubled_all_reduce || defects.half_connected_all_reduce ||
         defects.one_group_exchange;
}

double table_ns_per_byte(Communication communication, const NetworkDimension& dimension, Count ranks,
                         const Defects& defects, bool doubled) {
  if (ranks <= 1 || communication == Communication::kNone) return 0;
  const double q = ranks;
  const double b = dimension.bandwidth_gb_per_s;
  const bool connected = dimension.link == Link::kFullyConnected;
  switch (communication) {
    case Communication::kAllReduce:
    case Communication::kPeriodicAllReduce: {
      const bool forgotten = connected && defects.half_connected_all_reduce;
      return (forgotten ? 1 : passes(defects, doubled)) * (connected ? 1 : q - 1) / (q * b);
    }
    case Communication::kAllGather:
      return (connected ? 1 : q - 1) / (q * b);
    case Communication::kAllToAll:
      return dimension.link == Link::kRing ? q * q / (8 * b) : connected ? 1 / b : q / (4 * b);
    default:
      return 1 / b;
  }
}

double table_group_ns_per_byte(Communication communication, const System& system, const Degrees& degrees,
                               Parallelism parallelism, const Defects& defects, bool doubled) {
  const Count ranks = degrees.of(parallelism);
  const NetworkDimension* own = dimension_of(system, parallelism);
  if (ranks <= 1 || own == nullptr) return 0;
  const Count domain = system.high_bandwidth_domain;
  if (domain > 0 && system.network.size() == 3 && reduces(communication)) {
    const double q = ranks;
    const double h = domain;
    const double near = system.network[0].bandwidth_gb_per_s;
    const double far = system.network[parallelism == Parallelism::kData ? 2 : 1].bandwidth_gb_per_s;
    const double once = ranks <= domain ? (q - 1) / (q * near) : (h - 1) / (h * near) + (q / h - 1) / (q * far);
    return passes(defects, doubled) * once;
  }
  return table_ns_per_byte(communication, *own, ranks, defects, doubled);
}

double table_machine_ns_per_byte(const System& system, const std::vector<Count>& sizes, const Defects& defects,
                                 bool doubled) {
  double share = 1;
  double ns = 0;
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    ns += share * table_ns_per_byte(Communication::kPeriodicAllReduce, system.network[j], sizes[j], defects, doubled);
    share /= static_cast<double>(sizes[j]);
  }
  return ns;
}

double table_exchange_ns(const System& system, const std::vector<Count>& sizes, double bytes_per_pair,
                         const Defects& defects) {
  double chips = 1;
  for (const Count size : sizes) chips *= static_cast<double>(size);
  if (chips <= 1 || sizes.empty()) return 0;
  std::vector<Transfer> rows;
  if (defects.one_group_exchange) rows = transfers_of_dfmodel(system, sizes, chips, defects);
  if (rows.empty()) rows = transfers(system, sizes, chips);
  double slowest = 0;
  for (const Transfer& row : rows)
    if (row.links > 0) slowest = std::max(slowest, bytes_per_pair * row.messages / row.links);
  return slowest;
}

}  // namespace orrery::dataflow
