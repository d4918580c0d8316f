#include "orrery/engines/serving/simulation/replay.h"

#include <gtest/gtest.h>

#include "orrery/engines/serving/model/evaluate.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

class Simulate : public testing::Test {
 protected:
  Simulation run(const Load& load, std::size_t requests, Deployment d = {}, SimulationOptions options = {}) const {
    d = completed(d);
    const StepModel steps(llama_, system_, d, operators_);
    if (load.concurrency) options.users = static_cast<base::Count>(*load.concurrency);
    const SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d));
    const std::vector<Request> all = requests_of(load, requests, 1);
    base::Diagnostics found;
    check(d, limits, all, found);
    found.throw_if_errors();
    return simulate(steps, limits, all, options);
  }
  static Load users(double count, base::Count prompt, base::Count output) {
    Load out;
    out.prompt = Lengths::constant(prompt);
    out.output = Lengths::constant(output);
    out.concurrency = count;
    return out;
  }
  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel llama_ = test_model();
};

TEST_F(Simulate, AgreesWithTheClosedFormOnConstantLengths) {
  for (const double c : {1., 4., 32., 128., 256.})
    for (const auto& [prompt, output] : {std::pair(100, 300), std::pair(1024, 256), std::pair(8000, 200)}) {
      const Load load = users(c, prompt, output);
      const Service closed = evaluate(llama_, system_, {}, load, operators_);
      // Waves enough that the first one, in which all come at once, does not count.
      const Simulation s = run(load, static_cast<std::size_t>(c) * 30);
      // Of the second half, when it runs steadily.
      double tpot = 0, e2e = 0;
      const std::size_t half = s.requests.size() / 2, end = s.requests.size() - static_cast<std::size_t>(c);
      for (std::size_t r = half; r < end; ++r) {
        tpot += static_cast<double>(s.requests[r].end - s.requests[r].first) * 1e-9 / (output - 1);
        e2e += static_cast<double>(s.requests[r].end - s.requests[r].arrival) * 1e-9;
      }
      const double n = static_cast<double>(end - half);
      EXPECT_NEAR(closed.tpot, tpot / n, 0.03 * tpot / n) << c << " users " << prompt << " + " << output;
      EXPECT_NEAR(closed.e2e, e2e / n, 0.03 * e2e / n) << c << " users " << prompt << " + " << output;
    }
}

TEST_F(Simulate, OfOneUserHasTheClosedFormsFirstToken) {
  for (const base::Count prompt : {1, 500, 8192, 20000}) {
    const Service closed = evaluate(llama_, system_, {}, users(1, prompt, 10), operators_);
    EXPECT_NEAR(run(users(1, prompt, 10), 3).ttft_mean, closed.ttft.mean, 5e-9) << prompt;
  }
}

TEST_F(Simulate, IsTheSameForEqualQuestions) {
  Load load = users(1, 1, 1);
  load.concurrency = std::nullopt;
  load.rate = 20;
  load.prompt.kind = load.output.kind = Lengths::Kind::kLogNormal;
  load.prompt.mean = 900, load.prompt.deviation = 1000;
  load.output.mean = 300, load.output.deviation = 200;
  Deployment d;
  d.replicas = 3;
  for (const Router router : {Router::kRoundRobin, Router::kLeastLoad}) {
    const Simulation a = run(load, 2000, d, {router}), b = run(load, 2000, d, {router});
    EXPECT_EQ(a.steps, b.steps);
    EXPECT_EQ(a.ttft_p99.value, b.ttft_p99.value);
    for (const Served& s : a.requests) {
      EXPECT_LT(s.arrival, s.first);
      EXPECT_LE(s.first, s.end);
    }
    EXPECT_LE(a.ttft_p99.low, a.ttft_p99.value);
    EXPECT_LE(a.ttft_p99.value, a.ttft_p99.high);
    EXPECT_LE(a.busy, 1);
  }
}

TEST_F(Simulate, ConservesTokensAndBlocksWhereMemoryIsShort) {
  Load load = users(64, 2000, 1000);
  load.output.kind = Lengths::Kind::kUniform;
  load.output.least = 1, load.output.most = 2000;
  Deployment d = completed({});
  const StepModel steps(llama_, system_, d, operators_);
  SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d));
  limits.blocks = 3000;
  const std::vector<Request> all = requests_of(load, 600, 3);
  const Simulation s = simulate(steps, limits, all, {.users = 64});
  EXPECT_GT(s.preemptions, 0);
  EXPECT_LE(s.most_blocks, 3000);
  double tokens = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    EXPECT_GT(s.requests[r].end, 0);
    tokens += all[r].output;
  }
  EXPECT_NEAR(s.output_tokens_per_s * s.seconds, tokens, 1e-6 * tokens);
}

TEST_F(Simulate, LeastLoadWaitsNoLongerThanRoundRobin) {
  Load load = users(1, 2000, 1);
  load.concurrency = std::nullopt;
  load.rate = 30;
  load.output.kind = Lengths::Kind::kUniform;
  load.output.least = 1, load.output.most = 1500;
  Deployment d;
  d.replicas = 4;
  EXPECT_LE(run(load, 3000, d, {Router::kLeastLoad}).ttft_mean, run(load, 3000, d).ttft_mean);
}

TEST_F(Simulate, RefusesByNameWhatItDoesNotKnow) {
  const auto code = [&](const Deployment& d, const std::vector<Request>& requests) {
    base::Diagnostics found;
    check(completed(d), limits_of(completed(d), kv_memory(llama_, system_, completed(d))), requests, found);
    return found.has_errors() ? found.all().front().code : std::string();
  };
  Deployment other;
  other.engine = Engine::kSglang;
  EXPECT_EQ(code({}, {{0, 5, 5}}), "");
  EXPECT_EQ(code(other, {{0, 5, 5}}), "O2075");
  EXPECT_EQ(code({.pp = 2}, {{0, 5, 5}}), "O2075");
  EXPECT_EQ(code({}, {{0, 5, 0}}), "O2075");
  EXPECT_EQ(code({}, {{0, 5000000, 1}}), "O2075");
  EXPECT_EQ(code({}, {{7, 5, 5}, {6, 5, 5}}), "O2075");
}

}  // namespace
}  // namespace orrery::serving
