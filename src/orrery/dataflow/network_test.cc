#include "orrery/dataflow/network.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery::dataflow {
namespace {

using workload::Communication;

constexpr Defects kAll[] = {kCorrected, kGen1, kGen2, kGen3, kGen4, kHead};

System system_of(std::vector<NetworkDimension> network) {
  System system;
  system.chips = 1;
  system.network = std::move(network);
  for (const NetworkDimension& dimension : system.network) system.chips *= dimension.size;
  return system;
}

TEST(Network, CollectivesOfAGroup) {
  const NetworkDimension ring{Link::kRing, 8, 50}, star{Link::kSwitch, 8, 50}, all{Link::kFullyConnected, 8, 50};
  const auto ns = [](Communication communication, const NetworkDimension& dimension, bool doubled = false) {
    return ns_per_byte(communication, dimension, 8, kCorrected, doubled);
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
}

TEST(Network, TheFirstGenerationAlwaysDoublesAndLaterOnesForgetFullyConnectedGroups) {
  const NetworkDimension ring{Link::kRing, 8, 50}, all{Link::kFullyConnected, 8, 50};
  const auto reduce = [](const NetworkDimension& dimension, const Defects& defects, bool doubled) {
    return ns_per_byte(Communication::kPeriodicAllReduce, dimension, 8, defects, doubled);
  };
  EXPECT_DOUBLE_EQ(reduce(ring, kGen1, false), 0.035);
  EXPECT_DOUBLE_EQ(reduce(all, kGen1, false), 0.005);
  for (const Defects& defects : {kGen2, kGen3, kGen4, kHead}) {
    EXPECT_DOUBLE_EQ(reduce(ring, defects, false), 0.0175);
    EXPECT_DOUBLE_EQ(reduce(ring, defects, true), 0.035);
    EXPECT_DOUBLE_EQ(reduce(all, defects, true), 0.0025);
  }
}

TEST(Network, OneRankCommunicatesNothing) {
  for (const Defects& defects : kAll)
    for (const Link link : {Link::kRing, Link::kSwitch, Link::kFullyConnected}) {
      for (int c = 0; c <= static_cast<int>(Communication::kBroadcast); ++c)
        EXPECT_EQ(ns_per_byte(static_cast<Communication>(c), {link, 1, 50}, 1, defects, true), 0);
      EXPECT_EQ(exchange_ns(system_of({{link, 1, 50}}), {}, 1e9, defects), 0);
    }
}

TEST(Network, AGroupUsesTheDimensionThatServesIt) {
  const System system =
      system_of({{Link::kRing, 8, 50, Parallelism::kTensor}, {Link::kRing, 6, 25, Parallelism::kData}});
  const Degrees degrees{.tensor = 8, .data = 6};
  const auto ns = [&](Parallelism group) {
    return group_ns_per_byte(Communication::kAllReduce, system, degrees, group, kCorrected, false);
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
    return group_ns_per_byte(Communication::kAllReduce, system, degrees, group, defects, false);
  };
  EXPECT_DOUBLE_EQ(ns(Parallelism::kTensor, kCorrected), 7.0 / (8 * 400) + 1.0 / (16 * 50));
  EXPECT_DOUBLE_EQ(ns(Parallelism::kData, kCorrected), 1.0 / (2 * 400));
  EXPECT_DOUBLE_EQ(ns(Parallelism::kTensor, kGen1), 2 * (7.0 / (8 * 400) + 1.0 / (16 * 50)));
}

// x = 4, y = 2, z = 3 where there are so many, b = 1, 10 and 100 GB/s: rows can be told apart. N(N-1)/2 = p(N).
struct Row {
  std::vector<Link> links;
  double theirs;     // second generation
  double corrected;  // all groups, all messages
};

TEST(Network, WholeMachineExchanges) {
  constexpr Link r = Link::kRing, sw = Link::kSwitch, fc = Link::kFullyConnected;
  const double p4 = 6, p8 = 28, p24 = 276;
  const Row rows[] = {
      {{r}, p4 / 2, p4 / 2},
      {{sw}, p4 / 4, p4 / 4},
      {{fc}, p4 / 6, p4 / 6},
      {{r, r}, p8 / 8, p8 / (2 * 2)},
      {{fc, fc}, std::max(p4 / 6, p8 / (1 * 10)), p8 / (6 * 2)},
      {{r, fc}, std::max(p4 / 2, p8 / (1 * 10)), p8 / (2 * 2)},
      {{r, sw}, std::max(p4 / 2, p8 / (2 * 10)), p8 / (2 * 2)},
      {{sw, sw}, std::max(p4 / 4, p8 / (2 * 10)), p8 / (4 * 2)},
      {{r, r, r}, p24 / (2 * 8), p24 / (2 * 6)},
      {{r, sw, sw}, p4 / 2, p24 / (2 * 6)},
      {{sw, sw, sw}, p4 / 4, p24 / (4 * 6)},
      {{sw, fc}, 0, p8 / (4 * 2)},  // not one of theirs
  };
  const Count sizes[] = {4, 2, 3};
  const double bandwidths[] = {1, 10, 100};
  for (const Row& row : rows) {
    std::vector<NetworkDimension> network;
    for (std::size_t j = 0; j < row.links.size(); ++j) network.push_back({row.links[j], sizes[j], bandwidths[j]});
    const System system = system_of(network);
    const std::string name = testing::PrintToString(&row - rows);
    EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 1, kCorrected), row.corrected) << name;
    EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 1, kGen2), row.theirs > 0 ? row.theirs : row.corrected) << name;
  }
}

// The exchange of embeddings on 8 x 16 GPUs that was published: 12,364,800 bytes a pair.
TEST(Network, ThePublishedExchangeOfARecommendationModel) {
  const System system = system_of({{Link::kRing, 8, 300}, {Link::kFullyConnected, 16, 25}});
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen2), 33500364.8);
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen1), 12364800.0 * 128 * 128 / 2 / (25 * 120));
  // Their third generation has a negative bisection there: only the rings count.
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kGen3), 12364800.0 * 28 / 600);
  // All 8 groups of 16 and all 16 rings carry the messages: the rings are slower.
  EXPECT_DOUBLE_EQ(exchange_ns(system, {}, 12364800, kCorrected), 12364800.0 * 8128 / (300 * 2 * 16));
}

TEST(Network, AMachineWideReductionMovesLessOnEachFurtherDimension) {
  const System system = system_of({{Link::kRing, 8, 300}, {Link::kFullyConnected, 16, 25}});
  EXPECT_DOUBLE_EQ(machine_all_reduce_ns_per_byte(system, {}, kCorrected, false),
                   7.0 / (8 * 300) + 1.0 / (16 * 25) / 8);
}

TEST(Network, DoublingABandwidthNeverSlowsAnything) {
  for (const Defects& defects : kAll)
    for (const Link x : {Link::kRing, Link::kSwitch, Link::kFullyConnected})
      for (const Link y : {Link::kRing, Link::kSwitch, Link::kFullyConnected})
        for (int j = 0; j < 2; ++j) {
          System system = system_of({{x, 4, 30, Parallelism::kTensor}, {y, 3, 7, Parallelism::kData}});
          const double before = exchange_ns(system, {}, 5, defects);
          const double group = machine_all_reduce_ns_per_byte(system, {}, defects, true);
          system.network[static_cast<std::size_t>(j)].bandwidth_gb_per_s *= 2;
          EXPECT_LE(exchange_ns(system, {}, 5, defects), before);
          EXPECT_LT(machine_all_reduce_ns_per_byte(system, {}, defects, true), group);
        }
}

}  // namespace
}  // namespace orrery::dataflow
