#include "orrery/engines/serving/search/optimize.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

using base::Count;

class ServingOptimize : public testing::Test {
 protected:
  ServingOptimize() {
    large_.accelerator.memory_bytes *= 2;
    large_.accelerator.memory_bytes_per_s *= 1.4;
    large_.price_per_gpu_hour = 3.5;
    large_operators_.emplace(large_.accelerator);
  }
  const cluster::System system_ = test_system();
  cluster::System large_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  std::optional<ServedRoofline> large_operators_;
  const ServedModel llama_ = test_model(), mixture_ = test_model(test_mixture());
};

// Every deployment of the space, one after the other.
std::optional<Found> enumerated(const ServedModel& model, const Space& s, Goal goal, const ServiceLimits& limits,
                                const Load& load) {
  std::optional<Found> best;
  for (std::size_t m = 0; m < s.machines.size(); ++m)
    for (const machine::Precision p : s.precisions)
      for (const Count tokens : s.max_batched_tokens)
        for (const Count tp : s.tp)
          for (const Count pp : s.pp)
            for (const Count dp : s.dp)
              for (const Count ep : s.ep)
                for (const Count replicas : s.replicas)
                  for (const double users : load.rate ? std::vector<double>{0} : s.users) {
                    Found f;
                    f.machine = m;
                    f.users = users;
                    f.deployment = s.base;
                    f.deployment.precision = p;
                    f.deployment.max_batched_tokens = tokens;
                    f.deployment.tp = tp, f.deployment.pp = pp, f.deployment.dp = dp, f.deployment.ep = ep;
                    f.deployment.replicas = replicas;
                    base::Diagnostics found;
                    check(model, f.deployment, found);
                    if (found.has_errors()) continue;
                    if (s.machines[m].most > 0 && f.deployment.accelerators() > s.machines[m].most) continue;
                    Load asked = load;
                    if (users > 0) asked.concurrency = users * static_cast<double>(replicas * dp);
                    f.service = evaluate(model, *s.machines[m].system, f.deployment, asked, *s.machines[m].operators);
                    if (!f.service.fits || !f.service.stable) continue;
                    if (load.rate && *load.rate > limits.load * f.service.capacity) continue;
                    if (limits.ttft && f.service.ttft.mean > *limits.ttft) continue;
                    if (limits.tpot && f.service.tpot > *limits.tpot) continue;
                    f.value = goal == Goal::kAccelerators           ? static_cast<double>(f.deployment.accelerators())
                              : goal == Goal::kTokensPerAccelerator ? -f.service.per_accelerator
                                                                    : f.service.usd_per_million_tokens;
                    const auto key = [](const Found& x) {
                      return std::tuple(x.value, x.deployment.accelerators(), x.service.tpot);
                    };
                    if (!best || key(f) < key(*best)) best = f;
                  }
  return best;
}

template <class T>
std::vector<T> some(base::SplitMix& random, const std::vector<T>& of) {
  std::vector<T> out;
  for (const T& one : of)
    if (random.next() % 2 == 0) out.push_back(one);
  if (out.empty()) out.push_back(of[random.next() % of.size()]);
  return out;
}

TEST_F(ServingOptimize, EqualsEnumerationOnRandomSpaces) {
  const char* more = std::getenv("ORRERY_SPACES");
  const std::uint64_t spaces = more != nullptr ? std::strtoull(more, nullptr, 10) : 3000;
  int answered = 0;
  for (std::uint64_t seed = 0; seed < spaces; ++seed) {
    base::SplitMix random(seed);
    Space s;
    s.machines = some<Machine>(random, {{&system_, &operators_, static_cast<Count>(random.next() % 20)},
                                        {&large_, &*large_operators_, static_cast<Count>(random.next() % 12)}});
    s.base.engine = static_cast<Engine>(random.next() % 3);
    s.precisions = some<machine::Precision>(random, {machine::Precision::kBf16, machine::Precision::kFp8});
    s.tp = some<Count>(random, {1, 2, 3, 4, 8});
    s.pp = some<Count>(random, {1, 2});
    s.dp = some<Count>(random, {1, 2});
    s.ep = some<Count>(random, {1, 2, 4});
    s.max_batched_tokens = some<Count>(random, {2048, 8192});
    s.replicas = some<Count>(random, {1, 2, 3, 4});
    s.users = some<double>(random, {1, 8, 40, 200});
    Load load;
    load.prompt = Lengths::constant(1 + static_cast<Count>(random.next() % 4000));
    load.output = Lengths::constant(1 + static_cast<Count>(random.next() % 500));
    if (random.next() % 2 == 0)
      load.rate = 0.1 + static_cast<double>(random.next() % 300) / 10;
    else
      load.concurrency = 1;
    ServiceLimits limits;
    if (random.next() % 2 == 0) limits.tpot = 0.004 + static_cast<double>(random.next() % 40) * 1e-3;
    if (random.next() % 3 == 0) limits.ttft = 0.02 + static_cast<double>(random.next() % 400) * 1e-3;
    if (random.next() % 2 == 0) limits.load = 0.8;
    const Goal goal = static_cast<Goal>(random.next() % 3);
    const ServedModel& model = random.next() % 2 == 0 ? llama_ : mixture_;
    const std::optional<Found> expected = enumerated(model, s, goal, limits, load);
    const Optimum got = optimize(model, s, goal, limits, load, base::Budget(), {.threads = seed % 2 == 0 ? 1 : 3});
    ASSERT_EQ(got.best.empty(), !expected.has_value()) << seed;
    ASSERT_TRUE(got.finished && got.certificate.optimal) << seed;
    if (!expected) continue;
    ++answered;
    EXPECT_EQ(got.best.front().value, expected->value) << seed;
    EXPECT_EQ(got.best.front().deployment, expected->deployment) << seed;
    EXPECT_EQ(got.best.front().machine, expected->machine) << seed;
    EXPECT_EQ(got.best.front().users, expected->users) << seed;
  }
  EXPECT_GT(answered, static_cast<int>(spaces / 4));
}

TEST_F(ServingOptimize, CountsEveryShapeOnce) {
  Space s;
  s.machines = {{&system_, &operators_, 16}};
  s.tp = {1, 2, 3, 4, 8, 32};
  s.pp = {1, 2, 4};
  s.replicas = {1, 2, 3, 4, 5, 6, 7, 8};
  Load load;
  load.prompt = Lengths::constant(2000);
  load.output = Lengths::constant(300);
  load.rate = 20;
  const Optimum found = optimize(llama_, s, Goal::kAccelerators, {0.5, 0.02}, load, base::Budget(), {.top = 3});
  ASSERT_FALSE(found.best.empty());
  EXPECT_EQ(found.certificate.space, 6 * 3 * 8);
  EXPECT_EQ(found.certificate.gap, 0);
  std::uint64_t pruned = 0;
  for (const base::Pruned& by : found.certificate.pruned) pruned += by.count;
  EXPECT_LE(pruned, 18U);
  for (std::size_t i = 1; i < found.best.size(); ++i) EXPECT_LE(found.best[i - 1].value, found.best[i].value);
}

TEST_F(ServingOptimize, SaysHowNearTheLimitsCame) {
  Space s;
  s.machines = {{&system_, &operators_, 8}};
  s.tp = {1, 8};
  Load load;
  load.prompt = Lengths::constant(2000);
  load.output = Lengths::constant(300);
  load.concurrency = 4;
  const Optimum found = optimize(llama_, s, Goal::kUsdPerMillionTokens, {0.5, 1e-6}, load, base::Budget());
  EXPECT_TRUE(found.best.empty());
  EXPECT_GT(found.least_tpot, 1e-6);
  EXPECT_TRUE(found.certificate.optimal);
  workload::PlainTransformer huge = test_sizes();
  huge.layers = 2000;
  EXPECT_GT(optimize(test_model(huge), s, Goal::kAccelerators, {}, load, base::Budget()).least_lacking, 0);
}

}  // namespace
}  // namespace orrery::serving
