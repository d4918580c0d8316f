// Idea: a collective costs its steps (latency) plus what the busiest link carries (volume / rate).
//
// On one network of n ranks, S bytes, rate b of an accelerator, latency a of a step:
//
//   switch            all-reduce 2 (n-1) (a + S/(n b)), a ring of messages; reduce-scatter and all-gather half of it;
//                     all-to-all (n-1) (a + S/(n b)); in-network reduction S/b' + 2 a (b': of sums in the switch); tree
//                     2 S/b + 2 ceil(log2 n) a with `doubling`, L = log2 n: all-reduce 2 L a + 2 (n-1)/n S/b (halves,
//                     then doubles) or L (a + S/b) (whole buffers); reduce-scatter and all-gather L a + (n-1)/n S/b;
//                     all-to-all L (a + S/(2 b)). Where n is no power of two, an all-reduce folds the rest into its
//                     neighbours first and sends the result back after, 2 (a + S/b) more; an all-gather takes ceil(L)
//                     steps; a reduce-scatter gains nothing
//   fully connected   the same volumes in one step a phase; a group of n of N accelerators has (n-1)/(N-1) of the links
//   ring, torus       a bucket algorithm in all k dimensions at once: 2 (n-1)/n S/b, 2 sum(e_i - 1) steps;
//                     all-to-all: max over dimensions of k S floor(e_i^2/4)/(e_i b), for a message goes e_i/4 hops.
//                     A part of a ring is a line, whose ends are joined the long way: half the rate.
//
// Over several networks, with g ranks below level l, R_l units from level l outwards:
//
//   ring           2 (n-1)/n S / min_l(g_l b_l) + 2 sum_l a_l (R_l - R_(l+1)): the g ranks of a node feed one
//                  stream, so they have g accelerators' part of the node's cards
//   hierarchical   reduce-scatter inside, all-reduce outside on S/g, all-gather inside; times add
//   all-to-all     messages to another node are put together at their rank of the own node; networks work at once
//
// Of several algorithms that a network allows, the fastest counts for each size. Source: Thakur, Rabenseifner, Gropp,
// "Optimization of Collective Communication Operations in MPICH" (2005) for the single-network forms, Bruck et al.
// (1997) among them; Patarasuk and Yuan (2009) for the ring's volume bound. Held against others' results in
// docs/model/collective.md. Cost: a dozen flops per level.
#include "orrery/describe/collective/collective.h"

#include "orrery/describe/collective/spread.h"

#include <algorithm>

namespace orrery::collective {
namespace {

constexpr long long kEnough = 1LL << 31;  // accelerators; no group reaches further

// The extents of the sub-torus that `ranks` neighbours fill, and the share of the rate they can use.
struct Extents {
  std::array<int, kMaxTorusDimensions> extent = {1, 1, 1, 1};
  std::array<bool, kMaxTorusDimensions> line = {};  // a part of a ring
  int dimensions = 1;                               // of the network, not of the group
};

Extents extents(const Network& network, int ranks) {
  Extents result;
  if (network.topology == Topology::kRing) {
    result.extent[0] = ranks;
    result.line[0] = ranks > 2 && network.size != 0 && ranks < network.size;
    return result;
  }
  result.dimensions = 0;
  int left = ranks;
  for (int whole : network.torus) {
    if (whole <= 0) break;
    const int taken = std::min(left, whole);
    result.extent[result.dimensions] = taken;
    const bool closed = network.closes_at > 0 ? taken == whole && taken % network.closes_at == 0 : taken == whole;
    result.line[result.dimensions] = taken > 2 && !closed;
    left = (left + taken - 1) / taken;
    ++result.dimensions;
  }
  if (result.dimensions == 0) result.dimensions = 1;
  if (left > 1) result.extent[result.dimensions - 1] *= left;
  return result;
}

bool direct(const Network& network) {
  return network.topology == Topology::kRing || network.topology == Topology::kTorus;
}

// Bytes/s of one of `ranks` ranks when all links that join the group are busy.
double group_rate(const Network& network, int ranks) {
  const double rate = network.rate();
  switch (network.topology) {
    case Topology::kSwitch:
      return rate;
    case Topology::kFullyConnected:
      return network.size > ranks ? rate * (ranks - 1) / (network.size - 1) : rate;
    case Topology::kRing:
    case Topology::kTorus:
      break;
  }
  const Extents shape = extents(network, ranks);
  int used = 0;
  double part = 1;
  for (int d = 0; d < shape.dimensions; ++d) {
    if (shape.extent[d] == 1) continue;
    ++used;
    if (shape.line[d]) part = 0.5;
  }
  return rate * part * std::max(used, 1) / shape.dimensions;
}

int log2_ceil(int n) {
  int steps = 0;
  for (int reach = 1; reach < n; reach *= 2) ++steps;
  return steps;
}

// Steps of a reduce-scatter or an all-gather.
int scatter_steps(const Network& network, int ranks) {
  if (network.topology == Topology::kSwitch) return ranks - 1;
  if (network.topology == Topology::kFullyConnected) return 1;
  const Extents shape = extents(network, ranks);
  int steps = 0;
  for (int d = 0; d < shape.dimensions; ++d) steps += shape.extent[d] - 1;
  return steps;
}

bool doubles(const Network& network) {
  return network.doubling && network.topology == Topology::kSwitch;
}

bool is_power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

// In step s a rank passes on every block that has a way of 2^s left to go.
double all_to_all_by_doubling(const Network& network, int ranks, double bytes) {
  double blocks = 0;
  int steps = 0;
  for (long long reach = 1; reach < ranks; reach *= 2, ++steps)
    blocks += static_cast<double>(ranks / (2 * reach) * reach + std::max(0LL, ranks % (2 * reach) - reach));
  return bytes * blocks / ranks / network.rate() + steps * network.latency_s;
}

double all_reduce_by_doubling(const Network& network, int ranks, double bytes) {
  const double once = bytes / network.rate();
  int steps = 0;
  double held = 1;  // the largest power of two within `ranks`
  for (; 2 * held <= ranks; held *= 2) ++steps;
  const double folding = held < ranks ? 2 * (network.latency_s + once) : 0;
  const double halves = 2 * steps * network.latency_s + 2 * once * (held - 1) / held;
  const double whole = steps * (network.latency_s + once);
  return folding + std::min(halves, whole);
}

double all_to_all(const Network& network, int ranks, double bytes) {
  const double own_part = bytes * (ranks - 1) / ranks;
  if (!direct(network)) {
    const double pairs = own_part / group_rate(network, ranks) + scatter_steps(network, ranks) * network.latency_s;
    return doubles(network) ? std::min(pairs, all_to_all_by_doubling(network, ranks, bytes)) : pairs;
  }
  const Extents shape = extents(network, ranks);
  const double rate = network.rate() / shape.dimensions;
  double busiest = 0;
  int steps = 0;
  for (int d = 0; d < shape.dimensions; ++d) {
    const int e = shape.extent[d];
    const double hops = static_cast<double>(e) * e / 4 - (e % 2 == 1 ? 0.25 : 0);
    busiest = std::max(busiest, bytes * hops / e / (shape.line[d] ? rate / 2 : rate));
    steps += shape.line[d] ? e - 1 : e / 2;
  }
  return busiest + steps * network.latency_s;
}

// Without the fixed cost of the operation.
double on_one(Operation operation, const Network& network, int ranks, double bytes) {
  if (ranks <= 1) return 0;
  const double volume = bytes * (ranks - 1) / ranks;
  const double scatter = volume / group_rate(network, ranks) + scatter_steps(network, ranks) * network.latency_s;
  switch (operation) {
    case Operation::kAllGather:
      return doubles(network) ? volume / network.rate() + log2_ceil(ranks) * network.latency_s : scatter;
    case Operation::kReduceScatter:
      return doubles(network) && is_power_of_two(ranks) ? volume / network.rate() + log2_ceil(ranks) * network.latency_s
                                                        : scatter;
    case Operation::kAllToAll:
      return all_to_all(network, ranks, bytes);
    case Operation::kAllReduce:
    case Operation::kPointToPoint:
      break;
  }
  double best = 2 * scatter;
  if (network.topology != Topology::kSwitch) return best;
  const double once = bytes / network.rate();
  if (network.in_network_reduction) best = std::min(best, bytes / network.adding_rate() + 2 * network.latency_s);
  if (network.doubling) best = std::min(best, all_reduce_by_doubling(network, ranks, bytes));
  if (network.trees) best = std::min(best, 2 * once + 2 * log2_ceil(ranks) * network.latency_s);
  return best;
}

// One ring, or one tree of reducing switches, through all ranks.
double through_all(Operation operation, const Fabric& fabric, const Group& group, double bytes) {
  double slowest = 0, adding_slowest = 0;  // 1 / (bytes/s of the stream)
  double ring_latency = 0, tree_latency = 0, adding_latency = 0;
  bool adding = operation == Operation::kAllReduce, trees = adding;
  int below = 1;
  int units = 1;
  for (int l = 0; l < fabric.count; ++l) units *= group.joined[l];
  for (int l = 0; l < fabric.count; ++l) {
    const int joined = group.joined[l];
    if (joined > 1) {
      const Network& network = fabric.levels[l];
      slowest = std::max(slowest, 1 / (below * group_rate(network, joined)));
      adding_slowest = std::max(adding_slowest, 1 / (below * network.adding_rate()));
      ring_latency += (units - units / joined) * network.latency_s;
      tree_latency += log2_ceil(joined) * network.latency_s;
      adding_latency += network.latency_s;
      adding = adding && network.in_network_reduction;
      trees = trees && network.trees;
    }
    below *= joined;
    units /= joined;
  }
  const double phase = bytes * (group.ranks - 1) / group.ranks * slowest + ring_latency;
  if (operation != Operation::kAllReduce) return phase;
  double best = 2 * phase;
  if (adding) best = std::min(best, bytes * adding_slowest + 2 * adding_latency);
  if (trees) best = std::min(best, 2 * bytes * slowest + 2 * tree_latency);
  return best;
}

// Innermost first; `bytes` shrinks to the shard that each level works on.
double one_after_another(Operation operation, const Fabric& fabric, const Group& group, double bytes) {
  int outermost = 0;
  for (int l = 0; l < fabric.count; ++l)
    if (group.joined[l] > 1) outermost = l;
  double total = 0;
  for (int l = 0; l <= outermost; ++l) {
    const int joined = group.joined[l];
    const Network& network = fabric.levels[l];
    if (operation != Operation::kAllReduce || l == outermost)
      total += on_one(operation, network, joined, bytes);
    else
      total += 2 * on_one(Operation::kReduceScatter, network, joined, bytes);
    bytes /= joined;
  }
  return total;
}

double exchange(const Fabric& fabric, const Group& group, double bytes) {
  double busiest = 0, latency = 0;
  for (int l = 0; l < fabric.count; ++l) {
    const int joined = group.joined[l];
    if (joined <= 1) continue;
    Network network = fabric.levels[l];
    network.doubling = false;  // a choice by size cannot be made by latency and volume apart
    latency += all_to_all(network, joined, 0);
    network.latency_s = 0;
    busiest = std::max(busiest, all_to_all(network, joined, bytes));
  }
  return busiest + latency;
}

// The share of `bytes` that has to leave a unit, for each rank in it.
double least_volume(Operation operation, int ranks, int units, int inside, bool adding) {
  const double all_but_own = static_cast<double>(units - 1) / units;
  switch (operation) {
    case Operation::kAllReduce:
      return (adding ? 1 : 2 * all_but_own) / inside;
    case Operation::kAllGather:
    case Operation::kReduceScatter:
      return all_but_own / inside;
    case Operation::kAllToAll:
      return static_cast<double>(ranks - inside) / ranks;
    case Operation::kPointToPoint:
      break;
  }
  return 1;
}

}  // namespace

Group place(const Fabric& fabric, int ranks, int stride) {
  return place(fabric, ranks, stride, 1, 1);
}

Group place(const Fabric& fabric, int ranks, int stride, int copies, int apart) {
  Group group;
  group.ranks = ranks * copies;
  long long capacity = 1;
  int members = 1;  // of the group in one unit of the levels so far
  for (int l = 0; l < fabric.count; ++l) {
    const int size = fabric.levels[l].size;
    int now = group.ranks;
    if (size > 0 && l + 1 < fabric.count) {
      capacity = std::min(capacity * size, kEnough);
      now = static_cast<int>(std::clamp<long long>(capacity / stride, 1, ranks) *
                             std::clamp<long long>(capacity / apart, 1, copies));
    }
    group.joined[l] = static_cast<int>((static_cast<long long>(now) + members - 1) / members);
    members = now;
    if (size == 0) break;
  }
  return group;
}

int level_between(const Fabric& fabric, int distance) {
  long long capacity = 1;
  for (int l = 0; l + 1 < fabric.count; ++l) {
    if (fabric.levels[l].size == 0) return l;
    capacity = std::min(capacity * fabric.levels[l].size, kEnough);
    if (distance < capacity) return l;
  }
  return std::max(0, fabric.count - 1);
}

double message_seconds(const Fabric& fabric, int level, double bytes) {
  const Network& network = fabric.levels[level];
  double links = 1;
  if (network.topology == Topology::kFullyConnected && network.size > 2) links = network.size - 1;
  if (network.topology == Topology::kRing && network.size != 2) links = 2;
  if (network.topology == Topology::kTorus) links = 2 * extents(network, 1).dimensions;
  return network.message_s + network.latency_s + bytes * links / network.rate();
}

double seconds(Operation operation, const Fabric& fabric, const Group& group, double bytes) {
  if (group.ranks <= 1) return 0;
  int used = 0, outermost = 0;
  double fixed = 0;
  for (int l = 0; l < fabric.count; ++l) {
    if (group.joined[l] <= 1) continue;
    ++used;
    outermost = l;
    fixed = std::max(fixed, fabric.levels[l].collective_s);
  }
  if (operation == Operation::kPointToPoint) return message_seconds(fabric, outermost, bytes);
  if (used <= 1) return fixed + on_one(operation, fabric.levels[outermost], group.ranks, bytes);
  if (operation == Operation::kAllToAll) return fixed + exchange(fabric, group, bytes);
  if (fabric.algorithm == Algorithm::kRing) return fixed + through_all(operation, fabric, group, bytes);
  const double hierarchical = one_after_another(operation, fabric, group, bytes);
  if (fabric.algorithm == Algorithm::kHierarchical) return fixed + hierarchical;
  return fixed + std::min(hierarchical, through_all(operation, fabric, group, bytes));
}

double seconds(Operation operation, const Network& network, int ranks, double bytes) {
  Fabric fabric;
  fabric.levels[0] = network;
  fabric.count = 1;
  Group group;
  group.ranks = ranks;
  group.joined[0] = ranks;
  return seconds(operation, fabric, group, bytes);
}

double volume_bound(Operation operation, const Fabric& fabric, const Group& group, double bytes) {
  double bound = 0, outward = 0;
  bool adding = false;
  int units = 1;
  for (int l = fabric.count - 1; l >= 0; --l) {
    units *= group.joined[l];
    if (group.joined[l] <= 1) continue;
    const Network& network = fabric.levels[l];
    outward += network.in_network_reduction ? std::max(network.rate(), network.adding_rate()) : network.rate();
    adding = adding || network.in_network_reduction;
    const double volume = least_volume(operation, group.ranks, units, group.inside(l), adding);
    bound = std::max(bound, bytes * volume / outward);
    if (operation == Operation::kPointToPoint) break;
  }
  return bound;
}

}  // namespace orrery::collective
