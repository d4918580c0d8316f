#include "orrery/engines/serving/search/optimize_pools.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

class OptimizePools : public testing::Test {
 protected:
  OptimizePools() {
    space_.machines = {{&system_, &operators_, 6}};
    space_.tp = {1, 2, 4}, space_.pp = {1}, space_.dp = {1}, space_.ep = {1};
  }

  OptimumPools best(Goal goal, const Load& load, const ServiceLimits& limits = {}, int threads = 1) const {
    return optimize_pools(model_, space_, goal, limits, load, base::Budget(base::Limits{}), {3, threads});
  }

  // The least accelerators, or the most tokens/s of each, of all pairs.
  double enumerated(Goal goal, const Load& load, const ServiceLimits& limits) const {
    double least = std::numeric_limits<double>::infinity();
    for (const base::Count a : space_.tp)
      for (const base::Count b : space_.tp)
        for (base::Count x = 1; x <= 6; ++x)
          for (base::Count y = 1; x * a + y * b <= 6; ++y) {
            const Pools pools{{.replicas = x, .tp = a}, {.replicas = y, .tp = b}};
            const Service s = evaluate(model_, system_, pools, load, operators_);
            if (!s.fits || !s.stable || (limits.tpot && s.tpot > *limits.tpot)) continue;
            least = std::min(
                least, goal == Goal::kAccelerators ? static_cast<double>(pools.accelerators()) : -s.per_accelerator);
          }
    return least;
  }

  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel model_ = test_model();
  Space space_;
};

Load load_of(double rate, double users) {
  Load out;
  out.prompt = Lengths::constant(2000), out.output = Lengths::constant(300);
  if (rate > 0) out.rate = rate;
  if (users > 0) out.concurrency = users;
  return out;
}

TEST_F(OptimizePools, EqualsEnumeration) {
  for (const double rate : {0.5, 4., 12., 25.})
    for (const std::optional<double> tpot : {std::optional<double>(), std::optional(0.012)}) {
      const Load load = load_of(rate, 0);
      const OptimumPools found = best(Goal::kAccelerators, load, {{}, tpot});
      const double least = enumerated(Goal::kAccelerators, load, {{}, tpot});
      ASSERT_EQ(!found.best.empty(), std::isfinite(least)) << rate;
      for (std::size_t i = 0; i < found.best.size(); ++i) {
        EXPECT_LE(least, found.best[i].value) << rate;
        EXPECT_LE(found.best[0].value, least) << rate;
        EXPECT_LE(found.best[i > 0 ? i - 1 : 0].value, found.best[i].value) << rate;
      }
      EXPECT_TRUE(found.certificate.optimal);
    }
  const Load users = load_of(0, 64);
  const OptimumPools found = best(Goal::kTokensPerAccelerator, users);
  ASSERT_EQ(found.best.size(), 3U);
  EXPECT_EQ(found.best.front().value, enumerated(Goal::kTokensPerAccelerator, users, {}));
  EXPECT_EQ(static_cast<double>(found.certificate.evaluated), found.certificate.space);
}

TEST_F(OptimizePools, IsTheSameOnAnyNumberOfThreads) {
  const OptimumPools one = best(Goal::kAccelerators, load_of(8, 0));
  const OptimumPools three = best(Goal::kAccelerators, load_of(8, 0), {}, 3);
  ASSERT_EQ(one.best.size(), three.best.size());
  ASSERT_FALSE(one.best.empty());
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    EXPECT_EQ(one.best[i].pools.prompts, three.best[i].pools.prompts);
    EXPECT_EQ(one.best[i].pools.decoding, three.best[i].pools.decoding);
  }
  EXPECT_EQ(one.certificate.evaluated, three.certificate.evaluated);
}

TEST_F(OptimizePools, FindsNothingWhereNothingIsWithinTheLimits) {
  const OptimumPools found = best(Goal::kAccelerators, load_of(1, 0), {{}, 1e-6});
  EXPECT_TRUE(found.best.empty());
  EXPECT_TRUE(found.certificate.optimal);
}

}  // namespace
}  // namespace orrery::serving
