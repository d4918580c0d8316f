#include "orrery/describe/collective/collective.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace orrery::collective {
namespace {

constexpr std::array kCollectives = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                                     Operation::kAllToAll};

Network network(Topology topology, double bytes_per_s = 100, double latency_s = 0, int size = 0) {
  Network result;
  result.topology = topology;
  result.bytes_per_s = bytes_per_s;
  result.latency_s = latency_s;
  result.size = size;
  return result;
}

Fabric two_levels(double inside = 300, double outside = 25, int node = 8) {
  Fabric fabric;
  fabric.levels[0] = network(Topology::kSwitch, inside, 0, node);
  fabric.levels[1] = network(Topology::kSwitch, outside);
  fabric.count = 2;
  return fabric;
}

// Ranks send their messages step by step; a step ends when its last message has arrived.
double simulated_ring_all_reduce(int ranks, double bytes, double bytes_per_s, double latency_s) {
  std::vector<std::vector<int>> contributions(static_cast<std::size_t>(ranks),
                                              std::vector<int>(static_cast<std::size_t>(ranks), 1));
  double now = 0;
  const auto at = [&](int rank, int chunk) -> int& {
    return contributions[static_cast<std::size_t>((rank % ranks + ranks) % ranks)]
                        [static_cast<std::size_t>((chunk % ranks + ranks) % ranks)];
  };
  for (int phase = 0; phase < 2; ++phase)
    for (int step = 0; step < ranks - 1; ++step) {
      const auto before = contributions;
      double last = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const int chunk = ((rank - step + phase) % ranks + ranks) % ranks;
        const int sent = before[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
        int& into = at(rank + 1, chunk);
        into = phase == 0 ? into + sent : sent;
        last = std::max(last, latency_s + bytes / ranks / bytes_per_s);
      }
      now += last;
    }
  for (const auto& rank : contributions)
    for (const int count : rank) EXPECT_EQ(count, ranks) << "every rank ends with everybody's part";
  return now;
}

double simulated_all_to_all(int ranks, double bytes, double bytes_per_s, double latency_s) {
  std::vector<std::vector<bool>> have(static_cast<std::size_t>(ranks),
                                      std::vector<bool>(static_cast<std::size_t>(ranks), false));
  double now = 0;
  for (int step = 1; step < ranks; ++step) {
    for (int rank = 0; rank < ranks; ++rank)
      have[static_cast<std::size_t>((rank + step) % ranks)][static_cast<std::size_t>(rank)] = true;
    now += latency_s + bytes / ranks / bytes_per_s;
  }
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(
        std::count(have[static_cast<std::size_t>(rank)].begin(), have[static_cast<std::size_t>(rank)].end(), true),
        ranks - 1);
  return now;
}

// Which ranks' parts every rank holds, block by block, while pairs exchange: the algorithms behind `doubling`,
// executed.
struct Pairs {
  explicit Pairs(int ranks, bool everything) : n(ranks), parts(static_cast<std::size_t>(n)) {
    for (int rank = 0; rank < n; ++rank) {
      parts[at(rank)].resize(static_cast<std::size_t>(n));
      for (int block = 0; block < n; ++block)
        if (everything || block == rank) parts[at(rank)][at(block)] = {rank};
    }
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void send(const std::vector<std::vector<std::set<int>>>& before, int from, int to, int block) {
    parts[at(to)][at(block)].insert(before[at(from)][at(block)].begin(), before[at(from)][at(block)].end());
  }
  void expect_all(const std::set<int>& whole) const {
    for (const auto& rank : parts)
      for (const auto& block : rank) EXPECT_EQ(block, whole);
  }
  std::set<int> ranks() const {
    std::set<int> all;
    for (int rank = 0; rank < n; ++rank) all.insert(rank);
    return all;
  }

  int n;
  std::vector<std::vector<std::set<int>>> parts;  // [rank][block]
};

// A power of two of ranks: halves of ever smaller ranges, then back.
double simulated_halving_and_doubling(int n, double bytes, double bytes_per_s, double latency_s) {
  Pairs pairs(n, true);
  double now = 0;
  const auto step = [&](int reach, bool gather) {
    const auto before = pairs.parts;
    for (int rank = 0; rank < n; ++rank) {
      const int other = rank ^ reach;
      // Halving, a rank keeps the half of its range with its own bit; doubling, it passes on what it has.
      for (int block = 0; block < n; ++block) {
        const bool mine = (block ^ rank) / (2 * reach) == 0 && ((block & reach) == (rank & reach));
        const bool theirs = (block ^ other) / (2 * reach) == 0 && ((block & reach) == (other & reach));
        if (gather ? mine : theirs) pairs.send(before, rank, other, block);
      }
    }
    now += latency_s + bytes * reach / n / bytes_per_s;
  };
  for (int reach = n / 2; reach >= 1; reach /= 2) step(reach, false);
  for (int rank = 0; rank < n; ++rank)  // what others sum up is theirs
    for (int block = 0; block < n; ++block)
      if (block != rank) pairs.parts[Pairs::at(rank)][Pairs::at(block)].clear();
  for (int reach = 1; reach < n; reach *= 2) step(reach, true);
  pairs.expect_all(pairs.ranks());
  return now;
}

// Any number of ranks: everyone passes all that it has to the rank 2^s before it, but no more than is missing.
double simulated_gather_by_doubling(int n, double bytes, double bytes_per_s, double latency_s) {
  Pairs pairs(n, false);
  double now = 0;
  for (int reach = 1; reach < n; reach *= 2) {
    const auto before = pairs.parts;
    const int passed = std::min(reach, n - reach);
    for (int rank = 0; rank < n; ++rank)
      for (int i = 0; i < passed; ++i) pairs.send(before, rank, (rank - reach + n) % n, (rank + i) % n);
    now += latency_s + bytes * passed / n / bytes_per_s;
  }
  for (int rank = 0; rank < n; ++rank)
    for (int block = 0; block < n; ++block)
      EXPECT_EQ(pairs.parts[Pairs::at(rank)][Pairs::at(block)], std::set<int>{block});
  return now;
}

// A block for the rank `distance` further goes the powers of two that make up the distance.
double simulated_exchange_by_doubling(int n, double bytes, double bytes_per_s, double latency_s) {
  double now = 0;
  std::vector<int> gone(static_cast<std::size_t>(n));
  for (int reach = 1; reach < n; reach *= 2) {
    int blocks = 0;
    for (int distance = 0; distance < n; ++distance)
      if ((distance & reach) != 0) {
        ++blocks;
        gone[static_cast<std::size_t>(distance)] += reach;
      }
    now += latency_s + bytes * blocks / n / bytes_per_s;
  }
  for (int distance = 0; distance < n; ++distance) EXPECT_EQ(gone[static_cast<std::size_t>(distance)], distance);
  return now;
}

// Every message of an all-to-all on a physical ring goes the shorter way, link by link; opposite ones half each way.
double busiest_ring_link(int ranks, double bytes, double bytes_per_s) {
  std::vector<double> right(static_cast<std::size_t>(ranks)), left(static_cast<std::size_t>(ranks));
  for (int from = 0; from < ranks; ++from)
    for (int distance = 1; distance < ranks; ++distance) {
      const double message = bytes / ranks;
      const double to_right = 2 * distance < ranks ? 1 : 2 * distance == ranks ? 0.5 : 0;
      for (int hop = 0; hop < distance; ++hop)
        right[static_cast<std::size_t>((from + hop) % ranks)] += message * to_right;
      for (int hop = 0; hop < ranks - distance; ++hop)
        left[static_cast<std::size_t>((from - hop + ranks) % ranks)] += message * (1 - to_right);
    }
  return std::max(*std::max_element(right.begin(), right.end()), *std::max_element(left.begin(), left.end())) /
         (bytes_per_s / 2);
}

TEST(Collective, ClosedFormsOfASwitch) {
  const Network net = network(Topology::kSwitch, 100, 0.5);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, net, 4, 800), 2 * 3 * (0.5 + 800 / 4 / 100.0));
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllGather, net, 4, 800), 3 * (0.5 + 2));
  EXPECT_DOUBLE_EQ(seconds(Operation::kReduceScatter, net, 4, 800), 3 * (0.5 + 2));
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllToAll, net, 4, 800), 3 * (0.5 + 2));
  EXPECT_DOUBLE_EQ(seconds(Operation::kPointToPoint, net, 4, 800), 0.5 + 8);
}

TEST(Collective, ClosedFormsOfTheOtherTopologies) {
  const Network full = network(Topology::kFullyConnected, 100, 0.5, 4);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, full, 4, 800), 2 * (0.5 + 6)) << "one step a phase";
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, full, 2, 800), 2 * (0.5 + 4 * 3)) << "one of three links";
  EXPECT_DOUBLE_EQ(seconds(Operation::kPointToPoint, full, 4, 800), 0.5 + 24);
  const Network ring = network(Topology::kRing, 100, 0.5, 4);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, ring, 4, 800), 2 * (3 * 0.5 + 6));
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllToAll, ring, 4, 800), 2 * 0.5 + 800 * 4 / 4.0 / 100);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, ring, 3, 900), 2 * (2 * 0.5 + 6 / 0.5))
      << "a line: the long way back";
  Network torus = network(Topology::kTorus, 120, 0.5, 64);
  torus.torus = {4, 4, 4, 0};
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, torus, 64, 640), 2 * (9 * 0.5 + 630 / 120.0));
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, torus, 4, 640), 2 * (3 * 0.5 + 480 / 40.0))
      << "one dimension of three";
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllToAll, torus, 64, 640), 6 * 0.5 + 640 / 40.0);
}

TEST(Collective, AnOversubscribedOrInefficientNetworkHasThatMuchLess) {
  Network net = network(Topology::kSwitch);
  const double before = seconds(Operation::kAllReduce, net, 8, 1000);
  net.oversubscription = 4;
  net.efficiency = 0.5;
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, net, 8, 1000), 8 * before);
}

TEST(Collective, AnAddingSwitchSendsTheBufferOnce) {
  Network net = network(Topology::kSwitch, 100, 0.25);
  net.in_network_reduction = true;
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, net, 64, 1000), 10 + 2 * 0.25);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllGather, net, 4, 1000), 7.5 + 3 * 0.25) << "nothing to add";
}

TEST(Collective, TreesWinSmallBuffersAndLoseLargeOnes) {
  const Network ring = network(Topology::kSwitch, 100, 0.25);
  Network tree = ring;
  tree.trees = true;
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, tree, 64, 0), 2 * 6 * 0.25);
  EXPECT_LT(seconds(Operation::kAllReduce, tree, 64, 1), seconds(Operation::kAllReduce, ring, 64, 1));
  EXPECT_EQ(seconds(Operation::kAllReduce, tree, 64, 1e9), seconds(Operation::kAllReduce, ring, 64, 1e9));
}

TEST(Collective, TheFastestOfTheAlgorithmsThatANetworkAllowsCounts) {
  const Network ring = network(Topology::kSwitch, 100, 0.25);
  Network both = ring;
  both.doubling = true;
  const auto takes = [&](double bytes) { return seconds(Operation::kAllReduce, both, 64, bytes); };
  EXPECT_DOUBLE_EQ(takes(1), 6 * (0.25 + 0.01)) << "whole buffers, log2 n steps";
  EXPECT_DOUBLE_EQ(takes(1e4), 2 * 6 * 0.25 + 2 * 63 / 64.0 * 100) << "halves, then doubles";
  EXPECT_LT(takes(1e4), seconds(Operation::kAllReduce, ring, 64, 1e4));
  // 65 ranks: one folds into its neighbour first, so that large buffers go round the ring.
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, both, 65, 1), 2 * (0.25 + 0.01) + 6 * (0.25 + 0.01));
  EXPECT_EQ(seconds(Operation::kAllReduce, both, 65, 1e9), seconds(Operation::kAllReduce, ring, 65, 1e9));
  EXPECT_EQ(seconds(Operation::kReduceScatter, both, 65, 1e3), seconds(Operation::kReduceScatter, ring, 65, 1e3));
  both.topology = Topology::kRing;
  EXPECT_EQ(seconds(Operation::kAllReduce, both, 64, 1),
            seconds(Operation::kAllReduce, network(Topology::kRing, 100, 0.25), 64, 1))
      << "pairs far apart are not neighbours on a ring";
}

TEST(Collective, ARingThroughNodesSharesTheirCards) {
  // cluster_model's form: k / min(B_i, B_x g / W) + 2 (nodes - 1) latency + A, with B_x what a node has.
  Fabric fabric = two_levels();
  fabric.levels[1].latency_s = 0.5;
  fabric.levels[0].collective_s = fabric.levels[1].collective_s = 3;
  const double node_rate = 8 * 25;
  for (const int g : {1, 2, 4, 8}) {
    const Group group = place(fabric, 4 * g, 8 / g);
    ASSERT_EQ(group.joined[0], g);
    ASSERT_EQ(group.joined[1], 4);
    const double n = 4 * g;
    const double volume = 2 * (n - 1) / n * 1000;
    EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, fabric, group, 1000),
                     volume / std::min(300.0, node_rate * g / 8) + 2 * 3 * 0.5 + 3);
  }
}

TEST(Collective, HierarchicalAllReduceIsInsideThenOutsideOnShardsThenInside) {
  Fabric fabric = two_levels();
  fabric.algorithm = Algorithm::kHierarchical;
  const Group group = place(fabric, 32, 1);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, fabric, group, 1000),
                   2 * (7 / 8.0 * 1000 / 300) + 2 * 3 / 4.0 * (1000 / 8.0) / 25);
}

TEST(Collective, TheFastestAcrossNetworksDependsOnTheBytes) {
  Fabric ring = two_levels(300, 25), hierarchical = ring, fastest = ring;
  ring.levels[1].latency_s = hierarchical.levels[1].latency_s = fastest.levels[1].latency_s = 1;
  hierarchical.levels[0].latency_s = ring.levels[0].latency_s = fastest.levels[0].latency_s = 2;
  hierarchical.algorithm = Algorithm::kHierarchical;
  fastest.algorithm = Algorithm::kFastest;
  const Group group = place(ring, 32, 1);
  bool ring_won = false, hierarchical_won = false;
  for (double bytes = 1; bytes < 1e7; bytes *= 2) {
    const double a = seconds(Operation::kAllReduce, ring, group, bytes);
    const double b = seconds(Operation::kAllReduce, hierarchical, group, bytes);
    EXPECT_EQ(seconds(Operation::kAllReduce, fastest, group, bytes), std::min(a, b));
    (a < b ? ring_won : hierarchical_won) = true;
  }
  EXPECT_TRUE(ring_won && hierarchical_won);
}

TEST(Collective, AllToAllKeepsBothNetworksBusy) {
  const Fabric fabric = two_levels();
  const Group group = place(fabric, 32, 1);
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllToAll, fabric, group, 1000),
                   std::max(7 / 8.0 * 1000 / 300, 3 / 4.0 * 1000 / 25));
}

TEST(Place, FillsTheInnermostNetworkFirst) {
  const Fabric fabric = two_levels();
  EXPECT_EQ(place(fabric, 8, 1).joined, (std::array<int, kMaxLevels>{8, 1, 1, 1}));
  EXPECT_EQ(place(fabric, 16, 1).joined, (std::array<int, kMaxLevels>{8, 2, 1, 1}));
  EXPECT_EQ(place(fabric, 16, 4).joined, (std::array<int, kMaxLevels>{2, 8, 1, 1}));
  EXPECT_EQ(place(fabric, 4, 8).joined, (std::array<int, kMaxLevels>{1, 4, 1, 1}));
  EXPECT_EQ(place(fabric, 4, 64).joined, (std::array<int, kMaxLevels>{1, 4, 1, 1}));
  EXPECT_EQ(place(fabric, 3, 4).joined, (std::array<int, kMaxLevels>{2, 2, 1, 1})) << "the last node is not full";
  EXPECT_EQ(place(fabric, 1, 4).joined, (std::array<int, kMaxLevels>{1, 1, 1, 1}));
}

TEST(Place, NeighboursFurtherApartMeetFurtherOut) {
  const Fabric fabric = two_levels();
  EXPECT_EQ(level_between(fabric, 1), 0);
  EXPECT_EQ(level_between(fabric, 7), 0);
  EXPECT_EQ(level_between(fabric, 8), 1);
  EXPECT_EQ(level_between(fabric, 100000), 1);
}

template <typename Simulate>
void expect_as_long_as_its_messages(Operation operation, Simulate simulate) {
  EXPECT_TRUE(rc::check([&] {
    const int ranks = *rc::gen::inRange(2, 40);
    const double bytes = *rc::gen::inRange(0, 100000);
    const double latency = *rc::gen::inRange(0, 100) / 16.0;
    const double simulated = simulate(ranks, bytes, 64, latency);
    const double formula = seconds(operation, network(Topology::kSwitch, 64, latency), ranks, bytes);
    RC_ASSERT(std::abs(simulated - formula) <= 1e-12 * simulated);
  }));
}

TEST(Simulation, RingAllReduceTakesAsLongAsItsMessages) {
  expect_as_long_as_its_messages(Operation::kAllReduce, simulated_ring_all_reduce);
}

TEST(Simulation, AllToAllTakesAsLongAsItsMessages) {
  expect_as_long_as_its_messages(Operation::kAllToAll, simulated_all_to_all);
}

TEST(Simulation, PairsThatExchangeTakeAsLongAsTheirMessages) {
  for (int n = 2; n < 70; ++n) {
    Network net = network(Topology::kSwitch, 64, 0.5);
    net.doubling = true;
    SCOPED_TRACE(n);
    EXPECT_NEAR(seconds(Operation::kAllGather, net, n, 640), simulated_gather_by_doubling(n, 640, 64, 0.5), 1e-9);
    // So slow a step that fewer always win.
    net.latency_s = 1000;
    EXPECT_NEAR(seconds(Operation::kAllToAll, net, n, 640), simulated_exchange_by_doubling(n, 640, 64, 1000), 1e-9);
    if ((n & (n - 1)) != 0 || n == 2) continue;  // two ranks exchange whole buffers in one step
    net.latency_s = 0.25;
    EXPECT_NEAR(seconds(Operation::kAllReduce, net, n, 640e6), simulated_halving_and_doubling(n, 640e6, 64, 0.25),
                1e-3);
    EXPECT_NEAR(seconds(Operation::kReduceScatter, net, n, 640), simulated_halving_and_doubling(n, 640, 64, 0.25) / 2,
                1e-9);
  }
}

TEST(Simulation, AllToAllOnARingIsLimitedByItsBusiestLink) {
  for (int ranks = 2; ranks < 33; ++ranks)
    EXPECT_NEAR(seconds(Operation::kAllToAll, network(Topology::kRing, 64, 0, ranks), ranks, 1000),
                busiest_ring_link(ranks, 1000, 64), 1e-9)
        << ranks;
}

// Any fabric and group that a system file could describe.
struct Case {
  Fabric fabric;
  Group group;
  double bytes = 0;
};

Case any_case() {
  Case made;
  made.fabric.count = *rc::gen::inRange(1, kMaxLevels + 1);
  made.fabric.algorithm = *rc::gen::element(Algorithm::kRing, Algorithm::kHierarchical, Algorithm::kFastest);
  for (int l = 0; l < made.fabric.count; ++l) {
    Network& net = made.fabric.levels[static_cast<std::size_t>(l)];
    net.topology = *rc::gen::element(Topology::kSwitch, Topology::kRing, Topology::kFullyConnected, Topology::kTorus);
    if (net.topology == Topology::kTorus) {
      net.size = 1;
      const int dimensions = *rc::gen::inRange(1, kMaxTorusDimensions + 1);
      for (int d = 0; d < dimensions; ++d) {
        net.torus[static_cast<std::size_t>(d)] = *rc::gen::inRange(1, 5);
        net.size *= net.torus[static_cast<std::size_t>(d)];
      }
    } else {
      net.size = *rc::gen::inRange(1, 17);
    }
    net.bytes_per_s = *rc::gen::inRange(1, 1000);
    net.efficiency = *rc::gen::inRange(1, 101) / 100.0;
    net.oversubscription = 1 + *rc::gen::inRange(0, 8) / 2.0;
    net.latency_s = *rc::gen::inRange(0, 10) / 8.0;
    net.collective_s = *rc::gen::inRange(0, 10) / 8.0;
    net.in_network_reduction = *rc::gen::arbitrary<bool>();
    net.trees = *rc::gen::arbitrary<bool>();
    net.doubling = *rc::gen::arbitrary<bool>();
  }
  made.group = place(made.fabric, *rc::gen::inRange(1, 300), *rc::gen::inRange(1, 65));
  made.bytes = *rc::gen::inRange(0, 1000000);
  return made;
}

TEST(Laws, OneRankCostsNothing) {
  EXPECT_TRUE(rc::check([] {
    Case made = any_case();
    made.group = place(made.fabric, 1, *rc::gen::inRange(1, 65));
    for (const Operation operation : kCollectives)
      RC_ASSERT(seconds(operation, made.fabric, made.group, made.bytes) == 0);
  }));
}

TEST(Laws, MoreBandwidthOrLessLatencyNeverHurts) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    Case better = made;
    Network& net = better.fabric.levels[static_cast<std::size_t>(*rc::gen::inRange(0, made.fabric.count))];
    net.bytes_per_s *= 1 + *rc::gen::inRange(0, 100) / 10.0;
    net.latency_s /= 2;
    for (const Operation operation : kCollectives)
      RC_ASSERT(seconds(operation, better.fabric, made.group, made.bytes) <=
                seconds(operation, made.fabric, made.group, made.bytes) * (1 + 1e-12));
  }));
}

TEST(Laws, MoreBytesNeverCostLess) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    const double more = made.bytes + *rc::gen::inRange(0, 1000);
    for (const Operation operation : kCollectives)
      RC_ASSERT(seconds(operation, made.fabric, made.group, made.bytes) <=
                seconds(operation, made.fabric, made.group, more) * (1 + 1e-12));
  }));
}

TEST(Laws, ReduceScatterAndAllGatherMakeAnAllReduce) {
  EXPECT_TRUE(rc::check([] {
    Case made = any_case();
    for (Network& net : made.fabric.levels) {
      net.collective_s = 0;
      net.in_network_reduction = net.trees = net.doubling = false;
    }
    const double halves = seconds(Operation::kReduceScatter, made.fabric, made.group, made.bytes) +
                          seconds(Operation::kAllGather, made.fabric, made.group, made.bytes);
    const double whole = seconds(Operation::kAllReduce, made.fabric, made.group, made.bytes);
    RC_ASSERT(std::abs(halves - whole) <= 1e-12 * whole);
  }));
}

TEST(Laws, NoAlgorithmBeatsTheVolumeBound) {
  EXPECT_TRUE(rc::check([] {
    Case made = any_case();
    // Groups that fill their units; the bound counts whole ones.
    int ranks = 1;
    for (int l = 0; l < made.fabric.count; ++l) {
      made.group.joined[static_cast<std::size_t>(l)] =
          *rc::gen::inRange(1, made.fabric.levels[static_cast<std::size_t>(l)].size + 1);
      ranks *= made.group.joined[static_cast<std::size_t>(l)];
    }
    made.group.ranks = ranks;
    for (const Operation operation : kCollectives) {
      const double bound = volume_bound(operation, made.fabric, made.group, made.bytes);
      RC_ASSERT(seconds(operation, made.fabric, made.group, made.bytes) >= bound * (1 - 1e-12));
    }
  }));
}

TEST(Laws, RelabellingLevelsThatJoinNothingChangesNothing) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    RC_PRE(made.fabric.count < kMaxLevels);
    // An extra network that joins one unit each, put anywhere.
    const int at = *rc::gen::inRange(0, made.fabric.count + 1);
    Case other = made;
    for (int l = made.fabric.count; l > at; --l) {
      other.fabric.levels[static_cast<std::size_t>(l)] = made.fabric.levels[static_cast<std::size_t>(l - 1)];
      other.group.joined[static_cast<std::size_t>(l)] = made.group.joined[static_cast<std::size_t>(l - 1)];
    }
    other.fabric.levels[static_cast<std::size_t>(at)] = network(Topology::kSwitch, 1, 1e9, 1);
    other.group.joined[static_cast<std::size_t>(at)] = 1;
    ++other.fabric.count;
    for (const Operation operation : kCollectives)
      RC_ASSERT(seconds(operation, made.fabric, made.group, made.bytes) ==
                seconds(operation, other.fabric, other.group, made.bytes));
  }));
}

TEST(Laws, PlacementKeepsEveryRankAndGroupsThatDivideFillTheirUnits) {
  EXPECT_TRUE(rc::check([] {
    const Case made = any_case();
    RC_ASSERT(made.group.inside(made.fabric.count) >= made.group.ranks);
    Fabric fabric = two_levels(1, 1, 1 << *rc::gen::inRange(0, 7));
    const int stride = 1 << *rc::gen::inRange(0, 7);
    const int ranks = 1 << *rc::gen::inRange(0, 12);
    const Group group = place(fabric, ranks, stride);
    RC_ASSERT(group.joined[0] == std::min(ranks, std::max(1, fabric.levels[0].size / stride)));
    RC_ASSERT(group.joined[0] * group.joined[1] == ranks);
  }));
}

TEST(Torus, AnAxisThatDoesNotCloseIsALineOfHalfTheRate) {
  Network slice;
  slice.topology = Topology::kTorus;
  slice.bytes_per_s = 400e9;
  slice.torus = {8, 8, 0, 0};
  slice.size = 64;
  Network open = slice;
  open.closes_at = 16;
  const double bytes = 1e9;
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, open, 64, bytes),
                   2 * seconds(Operation::kAllReduce, slice, 64, bytes));
  slice.torus = open.torus = {16, 16, 0, 0};
  slice.size = open.size = 256;
  EXPECT_DOUBLE_EQ(seconds(Operation::kAllReduce, open, 256, bytes), seconds(Operation::kAllReduce, slice, 256, bytes));
}

}  // namespace
}  // namespace orrery::collective
