#include "orrery/engines/serving/search/optimize_pools.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>

#include "orrery/base/numbers/split_mix.h"
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
            const Service s = evaluate(model_, {{&system_, &operators_}, {&system_, &operators_}}, pools, load);
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

// Every pair of shapes on every pair of kinds with every number of replicas, one after the other.
std::optional<FoundPools> all_pairs(const ServedModel& model, const Space& s, Goal goal, const ServiceLimits& limits,
                                    const Load& load, double& count) {
  std::optional<FoundPools> best;
  const auto key = [](const FoundPools& f) { return std::tuple(f.value, f.pools.accelerators(), f.service.tpot); };
  const auto try_all = [&](std::size_t a, std::size_t b, Deployment prompts, Deployment decoding) {
    base::Diagnostics found;
    check(model, prompts, found), check(model, decoding, found);
    if (found.has_errors()) return;
    const Machine &first = s.machines[a], &second = s.machines[b];
    for (prompts.replicas = 1; prompts.accelerators() <= first.most; ++prompts.replicas)
      for (decoding.replicas = 1; decoding.accelerators() <= second.most; ++decoding.replicas) {
        if (a == b && prompts.accelerators() + decoding.accelerators() > first.most) continue;
        ++count;
        FoundPools f{a, b, {prompts, decoding}, {}, 0};
        f.service =
            evaluate(model, {{first.system, first.operators}, {second.system, second.operators}}, f.pools, load);
        if (!limits.allow(f.service, load.rate)) continue;
        f.value = goal == Goal::kAccelerators           ? static_cast<double>(f.pools.accelerators())
                  : goal == Goal::kTokensPerAccelerator ? -f.service.per_accelerator
                                                        : f.service.usd_per_million_tokens;
        if (!best || key(f) < key(*best)) best = f;
      }
  };
  for (std::size_t a = 0; a < s.machines.size(); ++a)
    for (std::size_t b = 0; b < s.machines.size(); ++b)
      for (const base::Count tp_a : s.tp)
        for (const base::Count pp_a : s.pp)
          for (const base::Count tp_b : s.tp)
            for (const base::Count pp_b : s.pp) {
              Deployment prompts = s.base, decoding = s.base;
              prompts.tp = tp_a, prompts.pp = pp_a, decoding.tp = tp_b, decoding.pp = pp_b;
              try_all(a, b, prompts, decoding);
            }
  return best;
}

TEST_F(OptimizePools, EqualsEnumerationOnRandomSpacesOfSeveralKinds) {
  const char* more = std::getenv("ORRERY_SPACES");
  const std::uint64_t spaces = more != nullptr ? std::strtoull(more, nullptr, 10) : 300;
  int answered = 0, mixed = 0;
  for (std::uint64_t seed = 0; seed < spaces; ++seed) {
    base::SplitMix random(seed);
    const auto between = [&](double low, double high) {
      return low + (high - low) * static_cast<double>(random.next() % 1000) / 1000;
    };
    std::vector<cluster::System> systems(1 + random.next() % 3, system_);
    std::vector<ServedRoofline> rooflines;
    for (cluster::System& one : systems) {
      for (double& peak : one.accelerator.peak_flops_per_s) peak *= between(0.2, 1.5);
      one.accelerator.memory_bytes *= between(0.2, 2);
      one.accelerator.memory_bytes_per_s *= between(0.3, 2);
      one.fabric.levels[0].bytes_per_s *= between(0.02, 1);
      one.price_per_gpu_hour = between(0.5, 6);
      rooflines.emplace_back(one.accelerator);
    }
    Space s;
    for (std::size_t m = 0; m < systems.size(); ++m)
      s.machines.push_back({&systems[m], &rooflines[m], 1 + static_cast<base::Count>(random.next() % 7)});
    s.base.engine = static_cast<Engine>(random.next() % 3);
    s.tp = random.next() % 2 == 0 ? std::vector<base::Count>{1, 2} : std::vector<base::Count>{2, 4};
    s.pp = random.next() % 3 == 0 ? std::vector<base::Count>{1, 2} : std::vector<base::Count>{1};
    s.dp = s.ep = {1};
    Load load = load_of(0, 0);
    load.prompt = Lengths::constant(1 + static_cast<base::Count>(random.next() % 4000));
    load.output = Lengths::constant(1 + static_cast<base::Count>(random.next() % 500));
    if (random.next() % 3 != 0)
      load.rate = between(0.1, 20);
    else
      load.concurrency = 1 + static_cast<double>(random.next() % 200);
    ServiceLimits limits;
    if (random.next() % 2 == 0) limits.tpot = between(0.004, 0.04);
    if (random.next() % 3 == 0) limits.ttft = between(0.02, 1);
    if (random.next() % 2 == 0) limits.load = 0.8;
    const Goal goal = static_cast<Goal>(random.next() % 3);
    double count = 0;
    const std::optional<FoundPools> expected = all_pairs(model_, s, goal, limits, load, count);
    const OptimumPools got = optimize_pools(model_, s, goal, limits, load, base::Budget(base::Limits{}),
                                            {1 + seed % 3, seed % 2 == 0 ? 1 : 3});
    ASSERT_EQ(got.best.empty(), !expected.has_value()) << seed;
    ASSERT_TRUE(got.finished && got.certificate.optimal) << seed;
    EXPECT_EQ(got.certificate.space, count) << seed;
    EXPECT_LE(static_cast<double>(got.certificate.evaluated), count) << seed;
    if (!expected) continue;
    const FoundPools& best = got.best.front();
    ++answered, mixed += best.prompts_on != best.decoding_on;
    EXPECT_EQ(best.value, expected->value) << seed;
    EXPECT_EQ(best.pools.prompts, expected->pools.prompts) << seed;
    EXPECT_EQ(best.pools.decoding, expected->pools.decoding) << seed;
    EXPECT_EQ(best.prompts_on, expected->prompts_on) << seed;
    EXPECT_EQ(best.decoding_on, expected->decoding_on) << seed;
    EXPECT_EQ(got.certificate.lower_bound, best.value) << seed;
  }
  EXPECT_GT(answered, static_cast<int>(spaces / 4));
  EXPECT_GT(mixed, static_cast<int>(spaces / 20));
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
