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
    return evaluate(llama_, system_, pools, load, operators_);
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
  EXPECT_NEAR(transfer_seconds(llama_, system_, pools(1, 1), 4000), 4000 * 131072 / (0.617 * 450e9), 1e-6);
  Pools two = pools(1, 1, 2);
  EXPECT_NEAR(transfer_seconds(llama_, system_, two, 4000), 4000 * 131072 / (0.617 * 450e9), 1e-6);
  two.prompts.tp = 4;
  EXPECT_NEAR(transfer_seconds(llama_, system_, two, 4000), 2000 * 131072 / (0.617 * 450e9), 1e-6);
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
