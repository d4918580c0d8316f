#include "orrery/engines/serving/model/pools.h"

#include <gtest/gtest.h>

#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

class ServingPools : public testing::Test {
 protected:
  Service serve(const Pools& pools, std::optional<double> users, std::optional<double> rate = {}) const {
    Load load;
    load.prompt = Lengths::constant(4000);
    load.output = Lengths::constant(500);
    load.concurrency = users;
    load.rate = rate;
    return evaluate(llama_, {{&system_, &operators_}, {&system_, &operators_}}, pools, load);
  }
  static Pools pools(base::Count prompts, base::Count decoding, base::Count tp = 1) {
    Pools out;
    out.prompts.replicas = prompts;
    out.decoding.replicas = decoding;
    out.decoding.tp = tp;
    return out;
  }
  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel llama_ = test_model();
};

TEST_F(ServingPools, MoveKeysAndValuesOverTheLinksOfTheSmaller) {
  // 128 KiB a token, 450 GB/s of which 0.617 are reached.
  EXPECT_NEAR(transfer_seconds(llama_, {{&system_, &operators_}, {&system_, &operators_}}, pools(1, 1), 4000),
              4000 * 131072 / (0.617 * 450e9), 1e-6);
  Pools two = pools(1, 1, 2);
  EXPECT_NEAR(transfer_seconds(llama_, {{&system_, &operators_}, {&system_, &operators_}}, two, 4000),
              4000 * 131072 / (0.617 * 450e9), 1e-6);
  two.prompts.tp = 4;
  EXPECT_NEAR(transfer_seconds(llama_, {{&system_, &operators_}, {&system_, &operators_}}, two, 4000),
              2000 * 131072 / (0.617 * 450e9), 1e-6);
}

TEST_F(ServingPools, OnTwoKindsHaveTheStepsOfEachTheSlowerLinkAndThePriceOfBoth) {
  cluster::System other = system_;
  other.accelerator.memory_bytes_per_s *= 0.5;
  other.fabric.levels[0].bytes_per_s = 50e9;
  other.price_per_gpu_hour = 1, other.watts_per_gpu = 400;
  const ServedRoofline slower(other.accelerator);
  const Kind here{&system_, &operators_}, there{&other, &slower};
  const Pools p = pools(2, 3);
  // Either way round, and as slow as the slower link by itself.
  const double transfer = 4000 * 131072 / (0.617 * 50e9);
  EXPECT_NEAR(transfer_seconds(llama_, {here, there}, p, 4000), transfer, 1e-6);
  EXPECT_NEAR(transfer_seconds(llama_, {there, here}, p, 4000), transfer, 1e-6);
  Load load;
  load.prompt = Lengths::constant(4000), load.output = Lengths::constant(500), load.rate = 0.5;
  const Service fast = evaluate(llama_, {here, here}, p, load), mixed = evaluate(llama_, {here, there}, p, load),
                slow = evaluate(llama_, {there, there}, p, load);
  EXPECT_EQ(mixed.tpot, slow.tpot);
  EXPECT_GT(mixed.tpot, 1.2 * fast.tpot);
  EXPECT_EQ(mixed.memory.blocks, slow.memory.blocks);
  const PoolCapacities of_fast = capacities(llama_, {here, here}, p, load),
                       of_slow = capacities(llama_, {there, there}, p, load);
  EXPECT_EQ(mixed.capacity, std::min(of_fast.prompts, of_slow.decoding));
  // 0.5 requests a second of 500 tokens.
  EXPECT_NEAR(mixed.usd_per_million_tokens, (2 * 2 + 3 * 1) / 3600.0 / 250 * 1e6, 1e-9);
  EXPECT_NEAR(mixed.joules_per_token, (2 * 700 + 3 * 400) / 250.0, 1e-9);
  other.price_per_gpu_hour = 0;
  EXPECT_EQ(evaluate(llama_, {here, there}, p, load).usd_per_million_tokens, 0);
}

TEST_F(ServingPools, CanServeInProportionToTheirReplicas) {
  Load load;
  load.prompt = Lengths::constant(4000), load.output = Lengths::constant(500), load.concurrency = 1;
  const PoolKinds on{{&system_, &operators_}, {&system_, &operators_}};
  const PoolCapacities one = capacities(llama_, on, pools(1, 1), load),
                       more = capacities(llama_, on, pools(3, 5), load);
  EXPECT_NEAR(more.prompts, 3 * one.prompts, 1e-9);
  EXPECT_NEAR(more.decoding, 5 * one.decoding, 1e-9);
  EXPECT_NEAR(serve(pools(3, 5), 1).capacity, std::min(more.prompts, more.decoding), 1e-12);
}

TEST_F(ServingPools, KeepLittlesLaw) {
  for (const double users : {4., 32., 200., 1000.})
    for (const Pools& p : {pools(1, 1), pools(3, 1), pools(1, 3), pools(2, 1, 4)}) {
      const Service s = serve(p, users);
      EXPECT_NEAR(s.output_tokens_per_s / 500 * s.e2e, users, 0.02 * users) << users;
      EXPECT_LE(s.output_tokens_per_s / 500, s.capacity * (1 + 1e-9));
    }
}

TEST_F(ServingPools, AreGovernedByTheSlower) {
  // Caches for some 90 sequences keep the decoding pool busy; a second one has the prompts wait.
  const Service one = serve(pools(1, 1), 300), more = serve(pools(2, 1), 300);
  EXPECT_NEAR(more.output_tokens_per_s, one.output_tokens_per_s, 0.01 * one.output_tokens_per_s);
  const Service two = serve(pools(1, 2), 300);
  EXPECT_GT(two.output_tokens_per_s, 1.4 * one.output_tokens_per_s);
  EXPECT_NEAR(serve(pools(1, 4), 300).output_tokens_per_s, two.output_tokens_per_s, 0.01 * two.output_tokens_per_s);
}

TEST_F(ServingPools, DecodeWithoutPromptsBetween) {
  Load load;
  load.prompt = Lengths::constant(4000);
  load.output = Lengths::constant(500);
  load.concurrency = 32;
  EXPECT_LT(serve(pools(2, 1), 32).tpot, evaluate(llama_, system_, Deployment{}, load, operators_).tpot);
}

TEST_F(ServingPools, AreNotStableBeyondTheirCapacity) {
  const double capacity = serve(pools(2, 1), std::nullopt, 0.01).capacity;
  EXPECT_TRUE(serve(pools(2, 1), std::nullopt, 0.95 * capacity).stable);
  EXPECT_FALSE(serve(pools(2, 1), std::nullopt, 1.05 * capacity).stable);
  const Service s = serve(pools(2, 1), std::nullopt, 0.8 * capacity);
  EXPECT_LE(s.ttft.p50, s.ttft.p99);
  EXPECT_NEAR(s.output_tokens_per_s, 0.8 * capacity * 500, 1e-6 * capacity);
}

}  // namespace
}  // namespace orrery::serving
