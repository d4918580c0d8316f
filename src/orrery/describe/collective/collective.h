// Times of collective operations on the networks of a cluster: pure functions of plain data, without allocation.
//
// A fabric is a stack of networks, innermost first: the links inside a node, the network between nodes, and so on.
// A group of ranks is placed on it by how many of its ranks each network joins. What an operation moves:
//
//   operation        `bytes` is                          a rank sends at least
//   all-reduce       the buffer that every rank holds    2 (n-1)/n bytes      (in-network reduction: 1 x bytes)
//   reduce-scatter   the buffer that every rank holds      (n-1)/n bytes
//   all-gather       the gathered result                   (n-1)/n bytes
//   all-to-all       what a rank sends in all, its own
//                    share included                        (n-1)/n bytes
//   point-to-point   the message                                   bytes
#pragma once

#include <array>

namespace orrery::collective {

inline constexpr int kMaxLevels = 4;
inline constexpr int kMaxTorusDimensions = 4;

enum class Operation { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kPointToPoint };

enum class Topology {
  kSwitch,          // any rank reaches any other at full rate
  kRing,            // two neighbours, half of the rate to each
  kFullyConnected,  // a link to every other rank, rate / (size - 1) each
  kTorus,           // a ring in every dimension, rate / dimensions each
};

// One network. It joins `size` units of the network below (of accelerators, if it is the innermost).
struct Network {
  Topology topology = Topology::kSwitch;
  int size = 0;                       // 0: as many as there are
  double bytes_per_s = 0;             // nominal, per direction: what ONE accelerator can send over all its links
  double efficiency = 1;              // of large messages
  double oversubscription = 1;        // of a switch: capacity towards the ranks over capacity upwards; at least 1
  double latency_s = 0;               // of a step
  double collective_s = 0;            // fixed cost of one collective operation, however many steps
  double message_s = 0;               // fixed cost of one point-to-point message
  bool in_network_reduction = false;  // the switch adds: an all-reduce sends its buffer once
  double in_network_efficiency = 0;   // of large messages that the switch adds; 0: `efficiency`
  bool trees = false;                 // all-reduces may use a tree where fewer steps outweigh more bytes
  bool doubling = false;              // of a switch: ranks may exchange in pairs, ever further apart: log2 n steps
  std::array<int, kMaxTorusDimensions> torus = {0, 0, 0, 0};  // extents of a torus; 0 ends the list
  int closes_at =
      0;  // axes of a torus that are a multiple of it are rings, others lines; 0: an axis used whole is a ring

  // Bytes/s of one accelerator, per direction; and where the switch adds.
  double rate() const { return bytes_per_s * efficiency / oversubscription; }
  double adding_rate() const {
    return bytes_per_s * (in_network_efficiency > 0 ? in_network_efficiency : efficiency) / oversubscription;
  }
};

// The algorithm of an operation whose ranks span several networks.
enum class Algorithm {
  kRing,          // one ring through all ranks: networks are used at once, the slowest sets the pace
  kHierarchical,  // inside, then outside on the shards, then inside: one network after another
  kFastest,       // of the two, the one that takes less for the bytes at hand
};

struct Fabric {
  std::array<Network, kMaxLevels> levels;  // innermost first
  int count = 0;
  Algorithm algorithm = Algorithm::kRing;
};

// Where the ranks of a group are: `joined[l]` units of level l - 1 (accelerators for l = 0) are joined by level l.
// The ranks that a unit holds share its links to the outside evenly with the other accelerators in it: a group with g
// ranks in a node has g accelerators' part of the node's network cards (g/W of them).
struct Group {
  int ranks = 1;
  std::array<int, kMaxLevels> joined = {1, 1, 1, 1};

  // Ranks in one unit of level l (exclusive of what level l joins).
  int inside(int level) const {
    int product = 1;
    for (int l = 0; l < level; ++l) product *= joined[l];
    return product;
  }
};

// The group of `ranks` accelerators that are `stride` apart: the stride is 1 for the innermost kind of parallelism, and
// for the others the product of the degrees inside of it. Where sizes do not divide, groups are taken to begin at a
// unit's border, and the last unit is not full.
Group place(const Fabric& fabric, int ranks, int stride);

// The innermost level that joins two accelerators `distance` apart, the first one at a unit's border; the outermost
// where no level does.
int level_between(const Fabric& fabric, int distance);

// Seconds of one operation. Zero for a group of one rank. `bytes` >= 0; every level that the group uses has a positive
// rate. kPointToPoint goes between neighbours across the outermost level that the group uses.
double seconds(Operation operation, const Fabric& fabric, const Group& group, double bytes);

// The same on one network without others around it.
double seconds(Operation operation, const Network& network, int ranks, double bytes);

// Seconds of a message between two accelerators that `level` joins.
double message_seconds(const Fabric& fabric, int level, double bytes);

// The least seconds that the volume alone allows, whatever the algorithm: no latency, every network used at once.
double volume_bound(Operation operation, const Fabric& fabric, const Group& group, double bytes);

}  // namespace orrery::collective
