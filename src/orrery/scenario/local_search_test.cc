// At full size nothing can be enumerated; a long local search from the claimed optimum and from far away must find
// nothing better. ORRERY_MOVES=N tries N moves for each chip, GEMM and objective, all of them.
#include "orrery/nest/local_search_test_util.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "orrery/formats/timeloop/documents.h"
#include "orrery/nest/describe_test_util.h"
#include "orrery/nest/search.h"
#include "orrery/scenario/catalogue.h"

namespace orrery::scenario {
namespace {

using base::Count;
using nest::Metric;

struct Gemm {
  const char* name;
  Count m, k, n;
};

constexpr Gemm kGemms[] = {
    {"KQV", 3072, 1024, 4096},     {"KTQ", 4096, 64, 4096},      {"VScores", 64, 4096, 4096}, {"Out", 1024, 1024, 4096},
    {"FF1", 4096, 1024, 4096},     {"FF2", 1024, 4096, 4096},    {"MB1", 8192, 8192, 8192},   {"MB2", 1024, 8192, 1024},
    {"MB3", 8, 8192, 8},           {"MB4", 8, 1024, 8192},       {"MB5", 8192, 1024, 8},      {"MB6", 512, 256, 256},
    {"Harsh1", 4000, 6032, 12000}, {"Harsh2", 7000, 1440, 4224}, {"cube", 4096, 4096, 4096},
};
constexpr Metric kMetrics[] = {Metric::kEdp, Metric::kEnergy, Metric::kDelay};
constexpr const char* kMetricNames[] = {"edp", "energy", "delay"};

std::int64_t wanted_moves() {
  const char* moves = std::getenv("ORRERY_MOVES");
  return moves ? std::atoll(moves) : 0;
}

bool sanitized() {
  const char* set = std::getenv("ORRERY_SANITIZE");
  return set && *set;
}

class LocalSearchFindsNothingBetter : public ::testing::TestWithParam<const char*> {};

TEST_P(LocalSearchFindsNothingBetter, ThanTheOptimumOfAnyGemm) {
  const std::int64_t wanted = wanted_moves();
  const std::int64_t moves = wanted > 0 ? wanted : sanitized() ? 2000 : 60000;
  std::int64_t tried = 0, priced = 0;
  int cases = 0, reached = 0;
  double farthest = 1;
  for (const Gemm& gemm : kGemms)
    for (std::size_t k = 0; k < std::size(kMetrics); ++k) {
      const auto number = static_cast<std::size_t>(&gemm - kGemms);
      if (wanted == 0 && (number + k) % std::size(kMetrics) != 0) continue;
      if (sanitized() && number % 4 != 0) continue;
      const ChipFile file = load_chip(ORRERY_SOURCE_DIR "/catalog", GetParam());
      const auto read = formats::timeloop::Documents::gather({file.for_role(workload::OperatorRole::kMatmul).file}, {})
                            .read_for(workload::matmul(gemm.name, gemm.m, gemm.k, gemm.n));
      const nest::Model model(read.problem->einsum, *read.chip, {}, read.problem->space.reuse);
      const nest::Mapspace& space = read.problem->space;
      const nest::Optimum optimum = nest::optimize(model, space, {kMetrics[k]});
      ASSERT_TRUE(optimum.mapping && optimum.certificate.optimal) << gemm.name << " " << kMetricNames[k];
      nest::testing::LocalSearch search(model, space, kMetrics[k], 7919 * number + k);
      const double claimed = search.price(*optimum.mapping);
      ASSERT_TRUE(search.allowed(*optimum.mapping));

      // From the optimum itself, from around it, and from far away: four shares of the moves each.
      constexpr int kRounds = 12;
      double far = std::numeric_limits<double>::infinity();
      for (int round = 0; round < kRounds; ++round) {
        const bool near = round < kRounds * 2 / 3;
        const nest::Mapping start =
            round < kRounds / 3 ? *optimum.mapping : search.wander(*optimum.mapping, near ? 2 + round : 400);
        const nest::Mapping best = search.anneal(start, moves / kRounds, round % 4 == 0 ? 0 : round % 4 * 0.05);
        const double price = search.price(best);
        if (!near) far = std::min(far, price);
        ASSERT_GE(price, claimed * (1 - nest::kEqual)) << kMetricNames[k] << " of " << gemm.name << " on " << GetParam()
                                                       << " is not " << claimed << " but at most " << price << "\n"
                                                       << nest::testing::describe(best);
      }
      ++cases;
      reached += far <= claimed * (1 + 1e-9);
      farthest = std::max(farthest, far / claimed);
      tried += search.tried();
      priced += search.priced();
    }
  RecordProperty("moves", std::to_string(tried));
  RecordProperty("priced", std::to_string(priced));
  RecordProperty("cases", cases);
  RecordProperty("reached_from_afar", reached);
  RecordProperty("farthest", std::to_string(farthest));
  if (wanted > 0)
    std::printf("%s: %lld moves, %lld of them legal, %d cases; %d optima reached from afar, else within %.3f\n",
                GetParam(), static_cast<long long>(tried), static_cast<long long>(priced), cases, reached, farthest);
  if (sanitized()) return;
  EXPECT_GT(priced, tried / 20) << "most moves lead nowhere: no attack on the claim";
  EXPECT_GT(reached, 0) << "a search that finds no optimum cannot beat one";
}

std::string name_of(const ::testing::TestParamInfo<const char*>& test) {
  std::string name = test.param;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Chips, LocalSearchFindsNothingBetter,
                         ::testing::Values("edge-npu", "many-core", "tpu-v4i", "factorflow-gemmini",
                                           "factorflow-eyeriss", "factorflow-simba", "factorflow-tpu"),
                         name_of);

}  // namespace
}  // namespace orrery::scenario
