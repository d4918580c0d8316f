// Collectives that others simulated or measured, against ours: the tables of docs/model/collective.md.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <source_dir.h>

#include "orrery/describe/collective/collective.h"

namespace orrery::collective {
namespace {

void expect_line(const std::string& line) {
  static const std::string page = [] {
    std::ifstream file(ORRERY_SOURCE_DIR "/docs/model/collective.md");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }();
  EXPECT_NE(page.find(line + "\n"), std::string::npos) << "docs/model/collective.md lacks: " << line;
}

Network one_way(double bytes_per_s, double latency_s) {
  Network network;  // a ring that is sent round one way only takes what a ring through a switch does
  network.bytes_per_s = bytes_per_s;
  network.latency_s = latency_s;
  return network;
}

// ASTRA-sim's regression test: 1 MiB on a ring of 8, 50 GB/s, 500 ns, 117,780 ns.
TEST(PublishedCollectives, TheRingOfAstraSimIsOursWithItsChunksItsReductionsAndItsDelays) {
  constexpr double kTheirs = 117780, kBytes = 1048576, kChunks = 4, kEndpoint = 10, kMemory = 50;
  const auto all_reduce = [](const Network& network, double bytes) {
    return 1e9 * seconds(Operation::kAllReduce, network, 8, bytes);
  };
  const double ours = all_reduce(one_way(50e9, 500e-9), kBytes);
  // Whole ns, as it counts: 32,768 bytes take 610 at 50 * 2^30 bytes/s and 655 at 50e9.
  const double message = kBytes / kChunks / 8;
  const double rate = message / std::floor(message / (50.0 * (1 << 30) / 1e9));
  const double wire = kChunks * all_reduce(one_way(rate * 1e9, 500e-9), kBytes / kChunks);
  const double summing = kChunks * 7 * 3 * std::floor(message / kMemory);
  const double delays = kChunks * 15 * kEndpoint;
  EXPECT_NEAR(wire + summing + delays, kTheirs, 1e-6);
  const auto row = [&](const char* what, double ns, const char* why) {
    expect_line(fmt::format("| {} | {:.0f} | {} |", what, ns, why));
  };
  row("one ring, one buffer, 50 GB/s, 500 ns a step (ours)", ours, "2 * 7 steps of 500 ns + 2 * 7/8 * 1 MiB / 50 GB/s");
  row("GB as 2^30 bytes, whole ns", wire - 3 * 2 * 7 * 500 - ours, "610 ns a message, not 655.36");
  row("four chunks, one after another", 3 * 2 * 7 * 500, "three times the latency of 14 steps more");
  row("sums through local memory", summing, "7 steps a chunk: two reads and a write of 32,768 bytes at 50 GB/s");
  row("endpoint delays", delays, "15 of 10 ns a chunk");
  row("their result", kTheirs, "");
}

// nccl-tests on two RTX 2080 Ti with a bridge of two NVLinks, 50 GB/s each way; microseconds.
TEST(PublishedCollectives, TwoGpusWithABridgeReachTheRateAtLargeSizesOnly) {
  struct Row {
    double bytes, us;
  };
  const Row rows[] = {{32768, 13.39},   {131072, 23.07},   {524288, 36.00},   {2097152, 70.44},
                      {8388608, 212.5}, {33554432, 817.8}, {67108864, 1568.3}};
  Network bridge = one_way(50e9, 0);
  bridge.efficiency = 0.863;      // fitted to the last row
  bridge.collective_s = 12.6e-6;  // fitted to the first
  for (const Row& row : rows) {
    const double us = 1e6 * seconds(Operation::kAllReduce, bridge, 2, row.bytes);
    expect_line(
        fmt::format("| {:.0f} | {:.1f} | {:.1f} | {:+.0f} % |", row.bytes, row.us, us, 100 * (us / row.us - 1)));
    if (row.bytes >= 8e6) {
      EXPECT_NEAR(us / row.us, 1, 0.05);
    }
  }
}

}  // namespace
}  // namespace orrery::collective
