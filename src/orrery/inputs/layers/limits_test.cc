// Limits that hold: problems on which a search that lists before it looks at the clock, or remembers without end, is
// noticed at once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include <source_dir.h>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/pareto.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/certify.h"

namespace orrery::verbs {
namespace {

using base::Count;
using formats::timeloop::Documents;
using formats::timeloop::Specification;

const std::string kCatalogue = ORRERY_SOURCE_DIR "/catalog";

// Sanitizers are slow, and keep memory of their own.
bool sanitized() {
  const char* how = std::getenv("ORRERY_SANITIZE");
  return how != nullptr && *how != '\0' && std::string(how) != "OFF";
}

// Of this process: others do not change it.
class CpuClock {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

// Outputs[batch..][M][N] += Weights[batch..][K][M] * Inputs[batch..][K][N].
workload::Einsum batched_product(const std::vector<Count>& batch, Count m, Count k, Count n) {
  workload::Einsum einsum;
  einsum.name = "batched";
  std::vector<workload::Rank> shared;
  for (const Count bound : batch) {
    shared.push_back({{{static_cast<int>(einsum.dimensions.size()), 1}}});
    einsum.dimensions.push_back({fmt::format("B{}", shared.size()), bound});
  }
  const int first = static_cast<int>(batch.size());
  for (const auto& [name, bound] : {std::pair{"M", m}, {"K", k}, {"N", n}}) einsum.dimensions.push_back({name, bound});
  const auto space = [&](const char* name, int a, int b, bool read_write) {
    workload::Dataspace dataspace{name, shared, read_write};
    for (const int d : {a, b}) dataspace.ranks.push_back({{{first + d, 1}}});
    einsum.dataspaces.push_back(std::move(dataspace));
  };
  space("Weights", 1, 0, false);
  space("Inputs", 1, 2, false);
  space("Outputs", 0, 2, true);
  return einsum;
}

Specification on(const std::string& chip, const workload::Einsum& einsum) {
  const ChipFile file = load_chip(kCatalogue, chip);
  return Documents::gather({file.for_role(workload::OperatorRole::kMatmul).file}, {}).read_for(einsum);
}

void expect_answer_in_time(const std::string& chip, const workload::Einsum& einsum, nest::Metric metric, int threads) {
  const std::string what =
      fmt::format("{} dimensions on {}, objective {}", einsum.dimensions.size(), chip, static_cast<int>(metric));
  const Specification read = on(chip, einsum);
  const nest::Model model(read.problem->einsum, *read.chip);
  nest::SearchLimits limits;
  limits.seconds = 1;
  limits.threads = threads;
  const CpuClock clock;
  const nest::Optimum found = nest::optimize(model, read.problem->space, {metric}, limits);
  if (!sanitized()) {
    EXPECT_LT(clock.seconds(), 3 * threads) << what;
  }
  ASSERT_TRUE(found.mapping) << what;
  EXPECT_TRUE(nest::is_legal(model.einsum(), model.chip(), *found.mapping)) << what;
  EXPECT_TRUE(nest::is_allowed(model.einsum(), model.chip(), *found.mapping, read.problem->space)) << what;
  const nest::Evaluation& cost = found.evaluation;
  const double value = metric == nest::Metric::kEdp      ? cost.edp_j_cycles
                       : metric == nest::Metric::kEnergy ? cost.energy_pj
                                                         : static_cast<double>(cost.cycles);
  EXPECT_LE(found.certificate.lower_bound, value) << what;
  EXPECT_GE(found.certificate.lower_bound, 0) << what;
  EXPECT_NEAR(found.certificate.gap, (value - found.certificate.lower_bound) / value, 1e-12) << what;
}

TEST(Limits, ABatchedProductOfFourDimensionsEndsInTimeWithAMappingAndABound) {
  for (const nest::Metric metric : {nest::Metric::kEdp, nest::Metric::kEnergy, nest::Metric::kDelay})
    expect_answer_in_time("many-core", batched_product({720}, 720, 720, 720), metric, 1);
  expect_answer_in_time("many-core", batched_product({720}, 720, 720, 720), nest::Metric::kEdp, 2);
}

TEST(Limits, ProductsOfManyDimensionsEndInTimeOnEveryChip) {
  for (const char* chip : {"many-core", "edge-npu", "tpu-v4i"}) {
    expect_answer_in_time(chip, batched_product({24, 36}, 720, 720, 720), nest::Metric::kEdp, 1);
    expect_answer_in_time(chip, batched_product({48, 36, 12}, 60, 48, 60), nest::Metric::kEdp, 1);
  }
}

TEST(Limits, BoundsWithVeryManyDivisorsEndInTime) {
  expect_answer_in_time("edge-npu", workload::matmul("cube", 720720, 720720, 720720), nest::Metric::kEdp, 1);
  expect_answer_in_time("edge-npu", workload::matmul("long", 519437318400, 720, 5040), nest::Metric::kEdp, 1);
}

TEST(Limits, ASearchCutShortBoundsWhatALongerOneFinds) {
  const workload::Einsum einsum = batched_product({4}, 48, 48, 48);
  const Specification read = on("edge-npu", einsum);
  const nest::Model model(read.problem->einsum, *read.chip);
  nest::SearchLimits limits;
  limits.seconds = 3;
  const double best = nest::optimize(model, read.problem->space, {}, limits).evaluation.edp_j_cycles;
  for (const double seconds : {1e-6, 1e-3, 0.01, 0.1, 0.5}) {
    limits.seconds = seconds;
    const nest::Optimum cut_short = nest::optimize(model, read.problem->space, {}, limits);
    ASSERT_TRUE(cut_short.mapping) << seconds;
    EXPECT_LE(cut_short.certificate.lower_bound, best * (1 + 1e-12)) << seconds;
    if (cut_short.certificate.optimal) {
      EXPECT_LE(cut_short.evaluation.edp_j_cycles, best * (1 + 1e-12)) << seconds;
    }
  }
}

TEST(Limits, FrontsAndChecksKeepToTheClock) {
  const Specification read = on("many-core", batched_product({60}, 720, 720, 720));
  const nest::Model model(read.problem->einsum, *read.chip);
  nest::SearchLimits limits;
  limits.seconds = 0.5;
  CpuClock clock;
  const nest::ParetoFront front = nest::pareto_front(model, read.problem->space, limits);
  if (!sanitized()) {
    EXPECT_LT(clock.seconds(), 1.2);
  }
  EXPECT_FALSE(front.complete);
  EXPECT_FALSE(front.points.empty());
  nest::Optimum claimed = front.points.front();
  claimed.certificate.optimal = true;
  clock = {};
  EXPECT_FALSE(certify(model, read.problem->space, {nest::Metric::kEnergy}, claimed, limits).finished);
  if (!sanitized()) {
    EXPECT_LT(clock.seconds(), 1.2);
  }
}

// Runs `work` in a process of its own; what it held at most, in MiB, and how it ended.
template <typename Work>
std::pair<long, int> peak_mib(const Work& work) {
  malloc_trim(0);  // what earlier tests freed would count as the child's
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return {usage.ru_maxrss / 1024, status};
}

TEST(Limits, ASmallMemoryIsKeptTo) {
  if (sanitized()) GTEST_SKIP() << "sanitizers keep memory of their own";
  const std::vector<std::pair<std::string, workload::Einsum>> problems = {
      {"edge-npu", workload::matmul("cube", 720720, 720720, 720720)},
      {"many-core", batched_product({720}, 720, 720, 720)},
      {"many-core", batched_product({24, 24, 24}, 120, 120, 120)}};
  for (const auto& [chip, einsum] : problems) {
    const Specification read = on(chip, einsum);
    const auto [peak, status] = peak_mib([&, &read_chip = *read.chip] {
      nest::SearchLimits limits;
      limits.memory = std::size_t{64} << 20;
      limits.seconds = 2;  // the first two would have taken 400 MiB by then, as the next test shows
      return nest::optimize(nest::Model(read.problem->einsum, read_chip), read.problem->space, {}, limits)
          .mapping.has_value();
    });
    EXPECT_EQ(status, 0) << einsum.name << " on " << chip;
    EXPECT_LT(peak, 64 + 96) << einsum.name << " on " << chip;
  }
}

TEST(Limits, AFailedAllocationLeavesTheBestSoFar) {
  if (sanitized()) GTEST_SKIP() << "sanitizers need all of the address space";
  for (const auto& [chip, einsum] : std::vector<std::pair<std::string, workload::Einsum>>{
           {"edge-npu", workload::matmul("cube", 720720, 720720, 720720)},
           {"many-core", batched_product({720}, 720, 720, 720)}}) {
    const Specification read = on(chip, einsum);
    for (const int threads : {1, 2}) {
      const auto [peak, status] = peak_mib([&, &read_chip = *read.chip] {
        const rlimit limit{std::size_t{400} << 20, std::size_t{400} << 20};
        setrlimit(RLIMIT_AS, &limit);
        nest::SearchLimits limits;
        limits.memory = 0;  // nothing but the system says stop
        limits.seconds = 8;
        limits.threads = threads;
        const nest::Optimum found =
            nest::optimize(nest::Model(read.problem->einsum, read_chip), read.problem->space, {}, limits);
        return found.mapping && !found.certificate.optimal && found.certificate.gap > 0 && found.certificate.gap <= 1;
      });
      EXPECT_EQ(status, 0) << einsum.name << " on " << chip << ", threads " << threads;
    }
  }
}

TEST(Limits, AnInterruptLeavesTheBestSoFar) {
  const Specification read = on("many-core", batched_product({720}, 720, 720, 720));
  const std::atomic<bool> stop{true};
  nest::SearchLimits limits;
  limits.stop = &stop;
  const nest::Optimum found =
      nest::optimize(nest::Model(read.problem->einsum, *read.chip), read.problem->space, {}, limits);
  EXPECT_TRUE(found.interrupted);
  EXPECT_TRUE(found.mapping);
  EXPECT_FALSE(found.certificate.optimal);
}

}  // namespace
}  // namespace orrery::verbs
