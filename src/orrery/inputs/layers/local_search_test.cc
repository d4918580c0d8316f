// At full size nothing can be enumerated; a long local search from the claimed optimum and from far away must find
// nothing better. ORRERY_MOVES=N tries N moves for each chip, GEMM and objective, all of them.
#include "orrery/engines/nest/search/local_search_test_util.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/engines/nest/model/describe_test_util.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/pareto.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/products_test_util.h"

namespace orrery::verbs {
namespace {

using base::Count;
using nest::Evaluation;
using nest::Metric;
using nest::testing::LocalSearch;
using testing::kGemms;
using testing::NamedGemm;

constexpr int kObjectives = 3;
constexpr Metric kMetrics[kObjectives] = {Metric::kEdp, Metric::kEnergy, Metric::kDelay};
constexpr const char* kMetricNames[kObjectives] = {"edp", "energy", "delay"};

bool sanitized_of_local_search() {
  const char* set = std::getenv("ORRERY_SANITIZE");
  return set && *set;
}

// Moves for each case; whether to try every case, those too whose proof takes longer than the attack.
struct Effort {
  std::int64_t moves = 60000;
  bool all = false;

  bool includes(const std::string& chip, const NamedGemm& gemm) const {
    return all || chip.starts_with("factorflow") || gemm.m * gemm.k * gemm.n <= Count{1} << 32;
  }
};
Effort effort() {
  if (const char* moves = std::getenv("ORRERY_MOVES")) return {std::atoll(moves), true};
  return {sanitized_of_local_search() ? 2000 : 60000, false};
}

struct Case {
  nest::Model model;
  nest::Mapspace space;
};

Case read(const std::string& chip, const NamedGemm& gemm) {
  const ChipFile file = load_chip(ORRERY_SOURCE_DIR "/catalog", chip);
  const auto documents =
      formats::timeloop::Documents::gather({file.for_role(workload::OperatorRole::kMatmul).file}, {});
  const auto specification = documents.read_for(workload::matmul(gemm.name, gemm.m, gemm.k, gemm.n));
  return {nest::Model(specification.problem->einsum, *specification.chip, {}, specification.problem->space.reuse),
          specification.problem->space};
}

// Rounds from the optimum itself, from around it and from far away, in equal shares. `use(best, far)` after each.
template <typename Use>
void attack(LocalSearch& search, const nest::Mapping& optimum, std::int64_t moves, const Use& use) {
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const bool far = round >= kRounds * 2 / 3;
    const nest::Mapping start = round < kRounds / 3 ? optimum : search.wander(optimum, far ? 400 : 2 + round);
    use(search.anneal(start, moves / kRounds, round % 4 * 0.05), far);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class LocalSearchFindsNothingBetter : public ::testing::TestWithParam<const char*> {};

TEST_P(LocalSearchFindsNothingBetter, ThanTheOptimumOfAnyGemm) {
  const Effort given = effort();
  std::int64_t tried = 0, priced = 0;
  int cases = 0, reached = 0;
  for (int number = 0; number < static_cast<int>(std::size(kGemms)); ++number)
    for (int k = 0; k < kObjectives; ++k) {
      if (!given.all && (number + k) % kObjectives != 0) continue;
      const NamedGemm& gemm = kGemms[number];
      if (!given.includes(GetParam(), gemm) || (sanitized_of_local_search() && number % 4 != 3)) continue;
      const Case at = read(GetParam(), gemm);
      const nest::Optimum optimum = nest::optimize(at.model, at.space, {kMetrics[k]});
      ASSERT_TRUE(optimum.mapping && optimum.certificate.optimal) << gemm.name << " " << kMetricNames[k];
      const auto worth = [&](const Evaluation& evaluation) { return nest::key_of({kMetrics[k]}, evaluation)[0]; };
      LocalSearch search(at.model, at.space, worth, 7919 * static_cast<std::uint64_t>(number) + k);
      ASSERT_TRUE(search.allowed(*optimum.mapping));
      const double claimed = worth(optimum.evaluation);
      double from_afar = std::numeric_limits<double>::infinity();
      attack(search, *optimum.mapping, given.moves, [&](const nest::Mapping& best, bool far) {
        const double price = search.price(best);
        if (far) from_afar = std::min(from_afar, price);
        ASSERT_GE(price, claimed * (1 - nest::kEqual)) << kMetricNames[k] << " of " << gemm.name << " on " << GetParam()
                                                       << " is at most " << price << ", not " << claimed << "\n"
                                                       << nest::testing::describe(best);
      });
      if (HasFatalFailure()) return;
      ++cases;
      reached += from_afar <= claimed * (1 + nest::kEqual);
      tried += search.tried();
      priced += search.priced();
    }
  RecordProperty("moves", std::to_string(tried));
  RecordProperty("legal", std::to_string(priced));
  RecordProperty("cases", cases);
  RecordProperty("reached_from_afar", reached);
  if (sanitized_of_local_search()) return;
  EXPECT_GT(priced, tried / 20) << "most moves lead nowhere: no attack on the claim";
  EXPECT_GT(reached, 0) << "a search that finds no optimum cannot beat one";
}

TEST_P(LocalSearchFindsNothingBetter, ThanTheFrontOfAnyGemm) {
  const Effort given = effort();
  std::int64_t tried = 0, points = 0;
  for (int number = 0; number < static_cast<int>(std::size(kGemms)); ++number) {
    const NamedGemm& gemm = kGemms[number];
    if (!given.includes(GetParam(), gemm) || (!given.all && number % 5 != 1)) continue;
    const Case at = read(GetParam(), gemm);
    const nest::ParetoFront front = nest::pareto_front(at.model, at.space);
    ASSERT_TRUE(front.complete && !front.infeasible) << gemm.name;
    points += static_cast<std::int64_t>(front.points.size());
    // The weight of energy against cycles: a walk along each part of the front.
    for (const double weight : {0.2, 1.0, 5.0})
      for (const nest::Optimum& from : {front.points.front(), front.points.back()}) {
        bool better = false;
        const auto worth = [&](const Evaluation& evaluation) {
          better = better || std::none_of(front.points.begin(), front.points.end(), [&](const nest::Optimum& point) {
                     return point.evaluation.cycles <= evaluation.cycles &&
                            point.evaluation.energy_pj <= evaluation.energy_pj * (1 + nest::kEqual);
                   });
          return std::pow(evaluation.energy_pj, weight) * static_cast<double>(evaluation.cycles);
        };
        LocalSearch search(at.model, at.space, worth, 104729 * static_cast<std::uint64_t>(number) + tried);
        attack(search, *from.mapping, given.moves / 6, [&](const nest::Mapping& best, bool) {
          ASSERT_FALSE(better) << "beyond the front of " << gemm.name << " on " << GetParam()
                               << "; the last walk's best\n"
                               << nest::testing::describe(best);
        });
        if (HasFatalFailure()) return;
        tried += search.tried();
      }
  }
  RecordProperty("moves", std::to_string(tried));
  RecordProperty("points", std::to_string(points));
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
}  // namespace orrery::verbs
