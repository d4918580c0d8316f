#include "orrery/engines/serving/model/evaluate.h"

#include <gtest/gtest.h>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

class ServingEvaluate : public testing::Test {
 protected:
  Service serve(const Load& load, const Deployment& d = {}) const {
    return evaluate(llama_, system_, d, load, operators_);
  }
  static Load users(double count, base::Count prompt = 1024, base::Count output = 256) {
    Load out;
    out.prompt = Lengths::constant(prompt);
    out.output = Lengths::constant(output);
    out.concurrency = count;
    return out;
  }
  static Load rate(double requests, base::Count prompt = 1024, base::Count output = 256) {
    Load out = users(1, prompt, output);
    out.concurrency = std::nullopt;
    out.rate = requests;
    return out;
  }
  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel llama_ = test_model();
};

TEST_F(ServingEvaluate, OfOneUserIsTheSumOfItsSteps) {
  const StepModel steps(llama_, system_, completed({}), operators_);
  StepWork first, second, decode;
  first.add_prompt(8192, 0, false);
  second.add_prompt(1808, 8192, true);
  decode.add_decode(10000 + 50);
  const Service s = serve(users(1, 10000, 100));
  EXPECT_NEAR(s.ttft.mean, steps.seconds(first) + steps.seconds(second), 1e-12);
  EXPECT_NEAR(s.tpot, steps.seconds(decode), 1e-12);
}

TEST_F(ServingEvaluate, KeepsLittlesLaw) {
  for (const double c : {1., 7., 64., 250.})
    for (const base::Count output : {2, 64, 1000}) {
      const Service s = serve(users(c, 700, output));
      ASSERT_TRUE(s.fits && s.stable);
      EXPECT_NEAR(s.output_tokens_per_s / static_cast<double>(output) * s.e2e, c, 1e-9 * c);
    }
}

// Few tokens, other engines, lengths that vary: all figures are numbers, and prompts' own arithmetic bounds the rate.
TEST_F(ServingEvaluate, IsNeverNegativeNorEndless) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    base::SplitMix random(seed);
    Deployment d;
    d.engine = static_cast<Engine>(random.next() % 3);
    d.replicas = 1 + static_cast<base::Count>(random.next() % 3);
    d.pp = 1 + static_cast<base::Count>(random.next() % 2);
    if (random.next() % 2 == 0) d.max_batched_tokens = base::Count{256} << (random.next() % 8);
    const base::Count prompt = 1 + static_cast<base::Count>(random.next() % (std::uint64_t{1} << (1 + seed % 14)));
    Load load = users(1 + static_cast<double>(random.next() % (std::uint64_t{1} << (1 + random.next() % 11))), prompt,
                      1 + static_cast<base::Count>(random.next() % 4));
    if (random.next() % 2 == 0) {
      load.output.kind = Lengths::Kind::kEmpirical;
      for (int i = 0; i < 8; ++i) load.output.samples.push_back(random.next() % 8 == 0 ? 2 : 1);
    }
    if (random.next() % 3 == 0) load.rate = static_cast<double>(1 + random.next() % 100), load.concurrency.reset();
    const Service s = serve(load, d);
    ASSERT_TRUE(s.fits) << seed;
    const double flops =
        s.capacity * static_cast<double>(prompt) * 2 * (llama_.parameters - llama_.table - llama_.head);
    EXPECT_TRUE(s.capacity > 0 && flops < 989e12 * static_cast<double>(d.accelerators())) << seed << ": " << s.capacity;
    if (!s.stable) continue;
    for (const double value : {s.ttft.mean, s.e2e, s.output_tokens_per_s, s.per_accelerator, s.per_user, s.running,
                               s.occupancy, s.usd_per_million_tokens, s.joules_per_token})
      EXPECT_TRUE(value > 0 && value < 1e12) << seed << ": " << value;
    EXPECT_TRUE(s.tpot >= 0 && s.tpot < 1e6 && s.ttft.p99 < 1e6 && s.ttft.p50 >= 0) << seed << ": " << s.tpot;
    if (!load.concurrency || *load.concurrency < static_cast<double>(d.replicas * d.pp)) continue;
    EXPECT_NEAR(s.output_tokens_per_s / load.output.average() * s.e2e, *load.concurrency, 0.02 * *load.concurrency);
  }
}

TEST_F(ServingEvaluate, NeverServesMoreThanTheWeightsCanBeRead) {
  const double bytes = 2 * (llama_.parameters - llama_.table);
  for (const double c : {1., 16., 256., 2000.}) {
    const Service s = serve(users(c));
    EXPECT_LT(s.output_tokens_per_s, std::min(c, 256.) * 3.35e12 / bytes);
    EXPECT_LT(s.output_tokens_per_s * 5, 989e12 / (2 * llama_.parameters));  // a prompt is four outputs long
  }
}

TEST_F(ServingEvaluate, MoreUsersWaitLongerAndGetMoreDone) {
  Service before = serve(users(1));
  for (const double c : {2., 8., 32., 128., 256.}) {
    const Service now = serve(users(c));
    EXPECT_GT(now.output_tokens_per_s, before.output_tokens_per_s);
    EXPECT_GT(now.tpot, before.tpot);
    EXPECT_LT(now.per_user, before.per_user);
    before = now;
  }
}

TEST_F(ServingEvaluate, UsersBeyondWhatRunsWait) {
  const Deployment few = {.max_sequences = 256};
  const Service one = serve(users(257), few), more = serve(users(513), few);
  EXPECT_DOUBLE_EQ(one.output_tokens_per_s, more.output_tokens_per_s);
  EXPECT_DOUBLE_EQ(one.tpot, more.tpot);
  const double rate = one.output_tokens_per_s / users(257).output.average();
  EXPECT_NEAR(more.ttft.mean - one.ttft.mean, 256 / rate, 1e-9);
}

TEST_F(ServingEvaluate, ArrivalsBeyondCapacityAreNotStable) {
  const double capacity = serve(rate(0.1)).capacity;
  EXPECT_TRUE(serve(rate(0.98 * capacity)).stable);
  const Service over = serve(rate(1.02 * capacity));
  EXPECT_FALSE(over.stable);
  EXPECT_EQ(over.tpot, 0);
  Deployment two;
  two.replicas = 2;
  EXPECT_TRUE(serve(rate(1.5 * capacity), two).stable);
}

TEST_F(ServingEvaluate, RareArrivalsFindAnIdleEngine) {
  const Service s = serve(rate(1e-6)), alone = serve(users(1));
  EXPECT_NEAR(s.ttft.mean, alone.ttft.mean, 1e-4 * alone.ttft.mean);
  EXPECT_NEAR(s.tpot, alone.tpot, 1e-9);
}

TEST_F(ServingEvaluate, PercentilesAreInOrder) {
  for (const double r : {0.5, 2., 8., 12.}) {
    const Service s = serve(rate(r));
    if (!s.stable) continue;
    EXPECT_LE(s.ttft.p50, s.ttft.p99);
    if (s.ttft.p99 > 0) {
      EXPECT_LE(s.ttft.mean, s.ttft.p99);
    }
  }
}

TEST_F(ServingEvaluate, CachedPrefixesSaveTheirPrompts) {
  Load cached = users(1, 8000, 100);
  const Service none = serve(cached);
  cached.prefix_hit = 0.9;
  const Service most = serve(cached);
  EXPECT_LT(most.ttft.mean, none.ttft.mean / 4);
  EXPECT_GT(most.output_tokens_per_s, none.output_tokens_per_s);
}

TEST_F(ServingEvaluate, PricesAreThoseOfAllAccelerators) {
  Deployment d;
  d.replicas = 3;
  d.tp = 2;
  const Service s = serve(users(60), d);
  EXPECT_NEAR(s.usd_per_million_tokens, 6 * 2. / 3600 / s.output_tokens_per_s * 1e6, 1e-9);
  EXPECT_NEAR(s.joules_per_token, 6 * 700 / s.output_tokens_per_s, 1e-9);
  EXPECT_NEAR(s.per_accelerator, s.output_tokens_per_s / 6, 1e-9);
}

TEST_F(ServingEvaluate, SequencesThatNoBlocksHoldDoNotFit) {
  EXPECT_FALSE(serve(users(1, 2000000, 10)).fits);
  EXPECT_TRUE(serve(users(1, 200000, 10)).fits);
}

TEST_F(ServingEvaluate, LoadsThatCannotBeAreRefused) {
  const auto refused = [](const Load& load) {
    base::Diagnostics found;
    check(load, found);
    return found.has_errors();
  };
  EXPECT_FALSE(refused(users(4)));  // else O2074
  Load both = users(4);
  both.rate = 1;
  EXPECT_TRUE(refused(both));
  EXPECT_TRUE(refused(users(0)));
  EXPECT_TRUE(refused(rate(-1)));
  EXPECT_TRUE(refused(users(4, 0)));
  Load hit = users(4);
  hit.prefix_hit = 1;
  EXPECT_TRUE(refused(hit));
}

TEST(Lengths, HaveTheirAverageWhenDrawn) {
  base::SplitMix random(7);
  Lengths uniform, spread;
  uniform.kind = Lengths::Kind::kUniform;
  uniform.least = 10, uniform.most = 90;
  spread.kind = Lengths::Kind::kLogNormal;
  spread.mean = 500, spread.deviation = 300;
  for (const Lengths& of : {uniform, spread}) {
    double sum = 0;
    for (int i = 0; i < 100000; ++i) sum += static_cast<double>(of.draw(random));
    EXPECT_NEAR(sum / 100000, of.average(), 0.01 * of.average());
  }
}

}  // namespace
}  // namespace orrery::serving
