#include "orrery/engines/dataflow/model/network_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/engines/dataflow/model/dfmodel_network.h"

namespace orrery::dataflow {
namespace {

using workload::Communication;

constexpr Defects kNetworkTimeAll[] = {kCorrected, kGen1, kGen2, kGen3, kGen4, kHead};

System system_of(std::vector<NetworkDimension> network) {
  System system;
  system.chips = 1;
  system.network = std::move(network);
  for (const NetworkDimension& dimension : system.network) system.chips *= dimension.size;
  return system;
}

// A group of eight tensor-parallel chips on a dimension of their own.
GroupCharges group_of_eight(Link link, const Defects& defects = kCorrected, bool doubled = false, double latency = 0) {
  System system = system_of({{link, 8, 50, Parallelism::kTensor}});
  system.link_latency_ns = latency;
  return group_charges(system, {.tensor = 8}, Parallelism::kTensor, defects, doubled);
}

TEST(Network, ChipsOfARingSendBothWaysAtOnceAndThoseOfAFullGroupOverEveryLink) {
  EXPECT_DOUBLE_EQ(network_of({Link::kRing, 8, 50}, 8, 0).bytes_per_s, 100);
  EXPECT_DOUBLE_EQ(network_of({Link::kRing, 2, 50}, 2, 0).bytes_per_s, 100) << "two links to the same chip";
  EXPECT_DOUBLE_EQ(network_of({Link::kSwitch, 8, 50}, 8, 0).bytes_per_s, 50);
  EXPECT_DOUBLE_EQ(network_of({Link::kFullyConnected, 8, 50}, 8, 0).bytes_per_s, 350);
}

// S bytes on q chips: an all-gather sends (q-1)/q S a chip, an all-reduce twice that, an all-to-all (q-1)/q of S/q.
TEST(Network, CollectivesOfAGroup) {
  const GroupCharges ring = group_of_eight(Link::kRing), star = group_of_eight(Link::kSwitch),
                     all = group_of_eight(Link::kFullyConnected);
  EXPECT_DOUBLE_EQ(ring.all_reduce.ns_per_byte, 2 * 7.0 / 8 / 100);
  EXPECT_DOUBLE_EQ(star.all_reduce.ns_per_byte, 2 * 7.0 / 8 / 50);
  EXPECT_DOUBLE_EQ(all.all_reduce.ns_per_byte, 2 * 1.0 / 8 / 50) << "an eighth to each of seven, there and back";
  EXPECT_DOUBLE_EQ(ring.all_gather.ns_per_byte, 7.0 / 8 / 100);
  EXPECT_DOUBLE_EQ(star.all_gather.ns_per_byte, 7.0 / 8 / 50);
  EXPECT_DOUBLE_EQ(all.all_gather.ns_per_byte, 1.0 / 8 / 50);
  EXPECT_DOUBLE_EQ(ring.all_to_all.ns_per_byte, 16.0 / 64 / (2 * 50)) << "16 messages of S/64 cross two links";
  EXPECT_DOUBLE_EQ(star.all_to_all.ns_per_byte, 7.0 / 64 / 50);
  EXPECT_DOUBLE_EQ(all.all_to_all.ns_per_byte, 1.0 / 64 / 50);
  for (const GroupCharges& group : {ring, star, all}) {
    EXPECT_DOUBLE_EQ(group.message.ns_per_byte, 0.02);
    EXPECT_EQ(group.all_reduce.start_ns, 0);
  }
}

TEST(Network, EveryStepOfACollectiveTakesALatency) {
  const GroupCharges ring = group_of_eight(Link::kRing, kCorrected, false, 5);
  EXPECT_DOUBLE_EQ(ring.all_reduce.start_ns, 2 * 7 * 5);
  EXPECT_DOUBLE_EQ(ring.all_gather.start_ns, 7 * 5);
  EXPECT_DOUBLE_EQ(ring.all_to_all.start_ns, 4 * 5) << "half way round";
  EXPECT_DOUBLE_EQ(ring.message.ns(50), 5 + 1);
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kFullyConnected, kCorrected, false, 5).all_reduce.start_ns, 2 * 5);
  EXPECT_EQ(group_of_eight(Link::kRing, kGen2, false, 5).all_reduce.start_ns, 0);
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kFullyConnected, kHead, false, 5).all_reduce.start_ns, 2 * 7 * 5);
}

TEST(Network, AnAllReduceIsAReduceScatterAndAnAllGatherAnyway) {
  for (const Link link : {Link::kRing, Link::kSwitch, Link::kFullyConnected})
    EXPECT_EQ(group_of_eight(link, kCorrected, true).all_reduce.ns_per_byte,
              group_of_eight(link, kCorrected, false).all_reduce.ns_per_byte);
}

TEST(Network, TheTableOfDFModel) {
  const NetworkDimension ring{Link::kRing, 8, 50}, star{Link::kSwitch, 8, 50}, all{Link::kFullyConnected, 8, 50};
  const auto ns = [](Communication communication, const NetworkDimension& dimension, bool doubled = false) {
    return table_ns_per_byte(communication, dimension, 8, {}, doubled);
  };
  EXPECT_DOUBLE_EQ(ns(Communication::kAllReduce, ring), 0.0175);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllReduce, star), 0.0175);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllReduce, all), 0.0025);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllReduce, ring, true), 0.035);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllReduce, all, true), 0.005);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllGather, ring, true), 0.0175);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllGather, all), 0.0025);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllToAll, ring), 0.16);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllToAll, star), 0.04);
  EXPECT_DOUBLE_EQ(ns(Communication::kAllToAll, all), 0.02);
  EXPECT_DOUBLE_EQ(ns(Communication::kPointToPoint, ring), 0.02);
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kRing, kGen3).all_gather.ns_per_byte, 0.0175);
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kRing, kGen3).all_to_all.ns_per_byte, 0.16);
}

TEST(Network, TheFirstGenerationAlwaysDoublesAndLaterOnesForgetFullyConnectedGroups) {
  const auto reduce = [](Link link, const Defects& defects, bool doubled) {
    return group_of_eight(link, defects, doubled).of(Communication::kPeriodicAllReduce).ns_per_byte;
  };
  EXPECT_DOUBLE_EQ(reduce(Link::kRing, kGen1, false), 0.035);
  EXPECT_DOUBLE_EQ(reduce(Link::kFullyConnected, kGen1, false), 0.005);
  for (const Defects& defects : {kGen2, kGen3, kGen4, kHead}) {
    EXPECT_DOUBLE_EQ(reduce(Link::kRing, defects, false), 0.0175);
    EXPECT_DOUBLE_EQ(reduce(Link::kRing, defects, true), 0.035);
    EXPECT_DOUBLE_EQ(reduce(Link::kFullyConnected, defects, true), 0.0025);
  }
}

TEST(Network, AFaultOfTheTableBringsTheTableBack) {
  Defects one;
  one.doubled_all_reduce = true;
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kRing, one).all_reduce.ns_per_byte, 0.035);
  EXPECT_DOUBLE_EQ(group_of_eight(Link::kRing, one).all_gather.ns_per_byte, 0.0175);
}

TEST(Network, OneRankCommunicatesNothing) {
  for (const Defects& defects : kNetworkTimeAll)
    for (const Link link : {Link::kRing, Link::kSwitch, Link::kFullyConnected}) {
      System system = system_of({{link, 1, 50, Parallelism::kTensor}});
      system.link_latency_ns = 5;
      const GroupCharges alone = group_charges(system, {}, Parallelism::kTensor, defects, true);
      for (int c = 0; c <= static_cast<int>(Communication::kBroadcast); ++c)
        EXPECT_EQ(alone.of(static_cast<Communication>(c)).ns(1e9), 0);
      EXPECT_EQ(exchange_ns(system, {}, 1e9, defects), 0);
      EXPECT_EQ(machine_all_reduce(system, {}, defects, true).ns(1e9), 0);
    }
}

TEST(Network, AGroupUsesTheDimensionThatServesIt) {
  const System system =
      system_of({{Link::kRing, 8, 50, Parallelism::kTensor}, {Link::kRing, 6, 25, Parallelism::kData}});
  const Degrees degrees{.tensor = 8, .data = 6};
  const auto ns = [&](Parallelism group) {
    return group_charges(system, degrees, group, kCorrected, false).all_reduce.ns_per_byte;
  };
  EXPECT_DOUBLE_EQ(ns(Parallelism::kTensor), 7.0 / 8 / 50);
  EXPECT_DOUBLE_EQ(ns(Parallelism::kData), 5.0 / 6 / 25);
  EXPECT_EQ(ns(Parallelism::kPipeline), 0);
}

TEST(Network, AHighBandwidthDomainTakesTheFirstPartOfAReduction) {
  System system = system_of({{Link::kRing, 4, 400, Parallelism::kPipeline},
                             {Link::kRing, 16, 50, Parallelism::kTensor},
                             {Link::kRing, 2, 25, Parallelism::kData}});
  system.high_bandwidth_domain = 8;
  const Degrees degrees{.tensor = 16, .pipeline = 4, .data = 2};
  const auto ns = [&](Parallelism group, const Defects& defects) {
    return group_charges(system, degrees, group, defects, false).all_reduce.ns_per_byte;
  };
  EXPECT_DOUBLE_EQ(ns(Parallelism::kTensor, kCorrected), 7.0 / (8 * 400) + 1.0 / (16 * 50));
  EXPECT_DOUBLE_EQ(ns(Parallelism::kTensor, kGen1), 2 * (7.0 / (8 * 400) + 1.0 / (16 * 50)));
  // Tensor-parallel ranks fill the domain: replicas meet outside of it. DFModel lets both have all of it.
  EXPECT_DOUBLE_EQ(ns(Parallelism::kData, kCorrected), 1.0 / (2 * 25));
  EXPECT_DOUBLE_EQ(ns(Parallelism::kData, kGen2), 1.0 / (2 * 400));
  const Degrees narrow{.tensor = 4, .pipeline = 16, .data = 2};
  EXPECT_DOUBLE_EQ(group_charges(system, narrow, Parallelism::kData, kCorrected, false).all_reduce.ns_per_byte,
                   1.0 / (2 * 400))
      << "two tensor-parallel groups share a domain";
}

// x = 4, y = 2, z = 3 where there are so many, b = 1, 10 and 100 GB/s: rows can be told apart. N(N-1)/2 = p(N).
struct NetworkTimeRow {
  std::vector<Link> links;
  double theirs;     // second generation
  double corrected;  // the slowest dimension: what a chip sends along it, over its links; on rings, hops count
};

TEST(Network, WholeMachineExchanges) {
  constexpr Link r = Link::kRing, sw = Link::kSwitch, fc = Link::kFullyConnected;
  const double p4 = 6, p8 = 28, p24 = 276;
  // Along x of n chips: n messages a chip go 4/4 of a hop each on average over 2 links; 3/4 n leave it over 1 or 3.
  const NetworkTimeRow rows[] = {
      {{r}, p4 / 2, 4 * 1 / 2.0},
      {{sw}, p4 / 4, 3},
      {{fc}, p4 / 6, 3 / 3.0},
      {{r, r}, p8 / 8, 8 * 1 / 2.0},
      {{fc, fc}, std::max(p4 / 6, p8 / (1 * 10)), 6 / 3.0},
      {{r, fc}, std::max(p4 / 2, p8 / (1 * 10)), 8 * 1 / 2.0},
      {{r, sw}, std::max(p4 / 2, p8 / (2 * 10)), 8 * 1 / 2.0},
      {{sw, sw}, std::max(p4 / 4, p8 / (2 * 10)), 6},
      {{r, r, r}, p24 / (2 * 8), 24 * 1 / 2.0},
      {{r, sw, sw}, p4 / 2, 24 * 1 / 2.0},
      {{sw, sw, sw}, p4 / 4, 18},
      {{sw, fc}, 0, 6},  // not one of theirs
  };
  const Count sizes[] = {4, 2, 3};
  const double bandwidths[] = {1, 10, 100};
  for (const NetworkTimeRow& row : rows) {
    std::vector<NetworkDimension> network;
    for (std::size_t j = 0; j < row.links.size(); ++j) network.push_back({row.links[j], sizes[j], bandwidths[j]});
    const System system = system_of(network);
    const std::string name = testing::PrintToString(&row - rows);
    EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 1, kCorrected), row.corrected) << name;
    EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 1, kGen2), row.theirs > 0 ? row.theirs : p8 / (4 * 2)) << name;
  }
}

// The exchange of embeddings on 8 x 16 GPUs that was published: 12,364,800 bytes a pair.
TEST(Network, ThePublishedExchangeOfARecommendationModel) {
  const System system = system_of({{Link::kRing, 8, 300}, {Link::kFullyConnected, 16, 25}});
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen2), 33500364.8);
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen1), 12364800.0 * 128 * 128 / 2 / (25 * 120));
  // Their third generation has a negative bisection there: only the rings count.
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen3), 12364800.0 * 28 / 600);
  // The rings are slower: 128 messages a chip go two hops each over its two links.
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kCorrected), 12364800.0 * 128 * 2 / (300 * 2));
}

TEST(Network, AMachineWideReductionMovesLessOnEachFurtherDimension) {
  const System system = system_of({{Link::kRing, 8, 300}, {Link::kFullyConnected, 16, 25}});
  EXPECT_DOUBLE_EQ(machine_all_reduce(system, {}, kCorrected, false).ns_per_byte,
                   2 * 7.0 / (8 * 600) + 2 * 1.0 / (16 * 25) / 8);
  EXPECT_DOUBLE_EQ(machine_all_reduce(system, {}, kGen2, false).ns_per_byte, 7.0 / (8 * 300) + 1.0 / (16 * 25) / 8);
}

TEST(Network, DoublingABandwidthNeverSlowsAnything) {
  for (const Defects& defects : kNetworkTimeAll)
    for (const Link x : {Link::kRing, Link::kSwitch, Link::kFullyConnected})
      for (const Link y : {Link::kRing, Link::kSwitch, Link::kFullyConnected})
        for (int j = 0; j < 2; ++j) {
          System system = system_of({{x, 4, 30, Parallelism::kTensor}, {y, 3, 7, Parallelism::kData}});
          const double before = exchange_ns(system, {}, 5, defects);
          const double group = machine_all_reduce(system, {}, defects, true).ns_per_byte;
          system.network[static_cast<std::size_t>(j)].bandwidth_gb_per_s *= 2;
          EXPECT_LE(exchange_ns(system, {}, 5, defects), before);
          EXPECT_LT(machine_all_reduce(system, {}, defects, true).ns_per_byte, group);
        }
}

}  // namespace
}  // namespace orrery::dataflow
