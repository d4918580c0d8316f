// The search equals rule-free enumeration on small random problems: chains of two and three, a tensor that is used
// twice, a residual, a copied input; one and two fused loops; storages and fan-outs inside; three objectives and the
// front. ORRERY_PROBLEMS=N draws N.
#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/engines/fused/search/brute_force_fused_test_util.h"
#include "orrery/engines/fused/search/random_fused_test_util.h"

namespace orrery::fused {
namespace {

int problems() {
  const char* wanted = std::getenv("ORRERY_PROBLEMS");
  return wanted != nullptr ? std::atoi(wanted) : 2000;
}

double best_of(const Result& result, Goal goal) {
  return result.best ? goal_value(goal, result.best->energy, result.best->latency) : kUnlimited;
}

bool equal(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

TEST(FusedBruteForce, EqualsEnumeration) {
  int feasible = 0;
  for (int i = 0; i < problems(); ++i) {
    const Problem problem = RandomProblem(static_cast<std::uint64_t>(i)).make();
    ASSERT_EQ(fault(problem), "") << i;
    SearchOptions options;
    options.fused_loops = 1 + i % 3;
    BruteForce brute(problem, options);
    for (const Goal goal : {Goal::kEnergy, Goal::kDelay, Goal::kEdp}) {
      options.goal = goal;
      const Result found = optimize(problem, options);
      const double best = brute.best(goal);
      ASSERT_TRUE(equal(best_of(found, goal), best))
          << "problem " << i << " goal " << static_cast<int>(goal) << ": " << best_of(found, goal) << ", not " << best;
      if (found.best) {
        ASSERT_TRUE(found.certificate.optimal);
        ASSERT_TRUE(evaluate(problem, found.best->tree).legal());
      }
      feasible += found.best ? 1 : 0;
    }
  }
  EXPECT_GT(feasible, problems());
}

}  // namespace
}  // namespace orrery::fused
