#include "orrery/engines/serving/simulation/replay.h"

#include <tuple>

#include <gtest/gtest.h>

#include "orrery/base/numbers/whole_number.h"
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
    const std::vector<Request> all = requests_of(load, requests, 1);
    const SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), all);
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
    for (const std::pair<int, int>& lengths : {std::pair(100, 300), std::pair(1024, 256), std::pair(8000, 200)}) {
      const int prompt = lengths.first, output = lengths.second;
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

// One more step than the rest of the one that runs, in both.
TEST_F(Simulate, OfAnEngineThatSchedulesAheadMakesWhoComesWaitForAStepMore) {
  Load load = users(1, 100, 300);
  load.concurrency = std::nullopt;
  for (const double rate : {5., 20.}) {
    load.rate = rate;
    Deployment d;
    const Service ahead = evaluate(llama_, system_, d, load, operators_);
    const Simulation simulated = run(load, 4000, d);
    d.synchronous = true;
    const Service after = evaluate(llama_, system_, d, load, operators_);
    const Simulation behind = run(load, 4000, d);
    EXPECT_NEAR(ahead.ttft.mean, simulated.ttft_mean, 0.02 * simulated.ttft_mean) << rate;
    EXPECT_NEAR(after.ttft.mean, behind.ttft_mean, 0.03 * behind.ttft_mean) << rate;
    EXPECT_NEAR(simulated.ttft_mean - behind.ttft_mean, ahead.tpot, 0.2 * ahead.tpot) << rate;
  }
}

TEST_F(Simulate, OfOneUserHasTheClosedFormsFirstToken) {
  for (const base::Count prompt : {1, 500, 8192, 20000}) {
    const Service closed = evaluate(llama_, system_, {}, users(1, prompt, 10), operators_);
    EXPECT_NEAR(run(users(1, prompt, 10), 3).ttft_mean, closed.ttft.mean, 5e-9) << prompt;
  }
}

// Uncut, a prompt that has no place beside those that decode would wait until none does.
TEST_F(Simulate, OfPromptsThatNearlyFillAStepIsAsFastAsOfShorterOnes) {
  Deployment d;
  d.engine = Engine::kTensorRtLlm;
  const auto tokens = [&](base::Count prompt) { return run(users(16, prompt, 64), 160, d).output_tokens_per_s; };
  const double longer = tokens(8193);
  for (const base::Count prompt : {8160, 8185, 8191, 8192}) EXPECT_NEAR(tokens(prompt), longer, 0.1 * longer) << prompt;
}

TEST_F(Simulate, OfUsersBeyondThoseThatRunAgreesWithTheClosedForm) {
  std::vector<double> off;
  for (const base::Count most : {8, 32, 100})
    for (const double over : {1.0, 1.5, 2.0, 3.3, 8.0})
      for (const double waves : {1., 2., 10.})
        for (const std::pair<int, int>& lengths : {std::pair(100, 300), std::pair(1024, 256), std::pair(8000, 200)}) {
          const int prompt = lengths.first, output = lengths.second;
          const double c = std::floor(static_cast<double>(most) * over);
          Load load = users(c, prompt, output);
          load.waves = waves;
          const Deployment d = {.max_sequences = most};
          const Service closed = evaluate(llama_, system_, d, load, operators_);
          const Simulation s = run(load, static_cast<std::size_t>(c * waves), d);
          const double within = 0.09;
          const auto near = [&](const char* what, double is, double simulated) {
            off.push_back(std::abs(is / simulated - 1));
            EXPECT_NEAR(is, simulated, within * simulated) << what << ": " << c << " users, " << most << " run, "
                                                           << waves << " waves of " << prompt << " + " << output;
          };
          near("ttft", closed.ttft.mean, s.ttft_mean);
          near("tpot", closed.tpot, s.tpot_mean);
          near("e2e", closed.e2e, s.e2e_mean);
          near("output", closed.output_tokens_per_s, s.output_tokens_per_s);
        }
  std::sort(off.begin(), off.end());
  EXPECT_LT(off[off.size() / 2], 0.01);
  EXPECT_LT(off[off.size() * 9 / 10], 0.03);
}

// Outputs that differ by few tokens: those who began together end apart, wave by wave.
TEST_F(Simulate, OfUsersWhoDriftApartAgreesWithTheClosedForm) {
  for (const Engine engine : {Engine::kVllm, Engine::kTensorRtLlm, Engine::kSglang})
    for (const double deviation : {1., 5., 20., 100.})
      for (const auto& [c, prompt, output] : {std::tuple(32, 2048, 256), std::tuple(64, 512, 512)}) {
        Load load = users(c, prompt, output);
        load.output.kind = Lengths::Kind::kLogNormal, load.output.deviation = deviation;
        load.waves = 10;
        const Deployment d = {.engine = engine};
        const Service closed = evaluate(llama_, system_, d, load, operators_);
        const Simulation s = run(load, static_cast<std::size_t>(c) * 10, d);
        EXPECT_NEAR(closed.tpot, s.tpot_mean, 0.04 * s.tpot_mean) << deviation;
        EXPECT_NEAR(closed.ttft.mean, s.ttft_mean, 0.2 * s.ttft_mean) << deviation;
      }
}

TEST_F(Simulate, OfReplicasThatTakeTurnsWaitsLessAsTheClosedFormSays) {
  Load load = users(1, 6000, 20);
  load.concurrency = std::nullopt;
  double before = 1e9, closed_before = 1e9;
  for (const base::Count replicas : {1, 2, 4}) {
    const Deployment d = {.replicas = replicas};
    load.rate = 3.0 * static_cast<double>(replicas);
    const Service closed = evaluate(llama_, system_, d, load, operators_);
    const Simulation s = run(load, 8000, d);
    EXPECT_NEAR(closed.ttft.mean, s.ttft_mean, 0.3 * s.ttft_mean) << replicas;
    EXPECT_LT(s.ttft_mean, before);
    EXPECT_LT(closed.ttft.mean, closed_before);
    before = s.ttft_mean, closed_before = closed.ttft.mean;
  }
}

TEST_F(Simulate, OfStagesAndOfOtherEnginesAgreesWithTheClosedForm) {
  const auto steady = [&](const Deployment& d, double tolerance) {
    const Load load = users(64, 1024, 256);
    const Service closed = evaluate(llama_, system_, d, load, operators_);
    const Simulation s = run(load, 64 * 20, d, {.skip_first = 64 * 8, .skip_last = 64});
    EXPECT_NEAR(closed.tpot, s.tpot_mean, tolerance * s.tpot_mean)
        << rules(d.engine).name << " " << d.pp << " " << d.acceptance;
    EXPECT_NEAR(closed.e2e, s.e2e_mean, tolerance * s.e2e_mean) << rules(d.engine).name << d.pp;
  };
  steady({.engine = Engine::kTensorRtLlm}, 0.03);
  steady({.engine = Engine::kSglang}, 0.03);
  steady({.pp = 2}, 0.035);
  steady({.pp = 4}, 0.035);
  for (const Engine engine : {Engine::kVllm, Engine::kTensorRtLlm, Engine::kSglang})
    for (const double acceptance : {0.0, 0.7, 1.0})
      steady({.engine = engine, .drafted = 3, .acceptance = acceptance}, 0.03);
  steady({.engine = Engine::kSglang, .pp = 2}, 0.1);
  steady({.engine = Engine::kSglang, .pp = 4}, 0.1);
}

TEST_F(Simulate, OfTwoGroupsIsThatOfTwoReplicasWhereTheyAreInStep) {
  const ServedModel mixture = test_model(test_mixture());
  Deployment d = completed({.dp = 2});
  const StepModel steps(mixture, system_, d, operators_);
  const std::vector<Request> all = requests_of(users(32, 1000, 200), 32 * 10, 1);
  const SchedulerLimits limits = limits_of(d, kv_memory(mixture, system_, d), all);
  const Simulation s = simulate(steps, limits, all, {.users = 32});
  const Service closed = evaluate(mixture, system_, d, users(32, 1000, 200), operators_);
  EXPECT_NEAR(closed.tpot, s.tpot_mean, 0.03 * s.tpot_mean);
  // Groups with different things to do wait for each other.
  Load load = users(32, 1000, 1);
  load.output.kind = Lengths::Kind::kUniform, load.output.least = 1, load.output.most = 400;
  const std::vector<Request> mixed = requests_of(load, 640, 1);
  const Simulation apart = simulate(steps, limits, mixed, {.users = 32});
  EXPECT_LT(apart.steps, 640 * 400);
  for (const Served& r : apart.requests) EXPECT_LT(r.arrival, r.end);
}

TEST_F(Simulate, NoEvictPreemptsNoneAndMaxUtilizationRunsMore) {
  Load load = users(64, 500, 1);
  load.output.kind = Lengths::Kind::kUniform, load.output.least = 100, load.output.most = 1500;
  const std::vector<Request> all = requests_of(load, 640, 1);
  Deployment d = completed({.engine = Engine::kTensorRtLlm});
  const auto with = [&](bool evicts) {
    d.evicts = evicts;
    SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), all);
    limits.blocks = 800;
    return simulate(StepModel(llama_, system_, d, operators_), limits, all, {.users = 64});
  };
  const Simulation calm = with(false), full = with(true);
  EXPECT_EQ(calm.preemptions, 0);
  EXPECT_GT(full.preemptions, 0);
  EXPECT_LT(full.ttft_mean, calm.ttft_mean);
}

TEST_F(Simulate, OfTwoPoolsHandsEveryPromptOver) {
  const Deployment reads = completed({.replicas = 2}), goes_on = completed({.tp = 2});
  const StepModel first(llama_, system_, reads, operators_), second(llama_, system_, goes_on, operators_);
  const auto run_pools = [&](double seconds, double rate, base::Count blocks) {
    Load load = users(1, 2000, 100);
    load.concurrency = std::nullopt, load.rate = rate;
    const std::vector<Request> all = requests_of(load, 400, 1);
    SchedulerLimits limits = limits_of(goes_on, kv_memory(llama_, system_, goes_on), all);
    if (blocks > 0) limits.blocks = blocks;
    const Handover handover{second, limits, [=](base::Count tokens) { return seconds * static_cast<double>(tokens); }};
    return simulate(first, limits_of(reads, kv_memory(llama_, system_, reads), all), all, {.handover = &handover});
  };
  const Simulation at_once = run_pools(0, 0.2, 0), slow = run_pools(1e-5, 0.2, 0);
  // A request that finds nothing: its prompt, what comes, a step.
  StepWork prompt, step;
  prompt.add_prompt(2000, 0, true);
  step.add_decode(2001);
  EXPECT_NEAR(at_once.ttft_p50.value, first.seconds(prompt) + second.seconds(step), 1e-8);
  EXPECT_NEAR(slow.ttft_p50.value - at_once.ttft_p50.value, 2000e-5, 1e-8);
  EXPECT_EQ(at_once.requests.size(), 400U);
  // Where the second pool is short of blocks, requests wait for it, and all end nevertheless.
  const Simulation tight = run_pools(1e-5, 20, 400);
  EXPECT_GT(tight.ttft_mean, slow.ttft_mean);
  EXPECT_LE(tight.most_blocks, 28000);
  for (const Served& r : tight.requests) {
    EXPECT_LT(r.arrival, r.first);
    EXPECT_LE(r.first, r.end);
  }
}

TEST_F(Simulate, ARouterThatKnowsPrefixesFindsMoreOfThem) {
  std::vector<Request> all;
  base::SplitMix random(1);
  for (int i = 0; i < 600; ++i) {
    Request request{i * 50'000'000LL, 2048, 20};
    const std::uint64_t family = 1 + random.next() % 12;
    for (std::uint64_t b = 0; b < 4; ++b) request.contents.push_back(b < 3 ? family * 10 + b : 1000 + 4 * i + b);
    all.push_back(request);
  }
  Deployment d = completed({.replicas = 4});
  const SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), all);
  const StepModel steps(llama_, system_, d, operators_);
  const Simulation blind = simulate(steps, limits, all, {Router::kRoundRobin});
  const Simulation aware = simulate(steps, limits, all, {Router::kPrefix});
  EXPECT_GT(aware.hit_share, blind.hit_share);
  EXPECT_LT(aware.busy, blind.busy);
}

TEST_F(Simulate, LoadsFromTheHostWhatTheDeviceHadToDrop) {
  // Twelve families of prompts come in turns; the device holds four of them, the host all, or two.
  std::vector<Request> all;
  for (int i = 0; i < 240; ++i) {
    Request request{i * 400'000'000LL, 4096, 20};
    for (std::uint64_t b = 0; b < 8; ++b) request.contents.push_back(1 + 8 * static_cast<std::uint64_t>(i % 12) + b);
    all.push_back(request);
  }
  const Deployment d = completed({});
  const StepModel steps(llama_, system_, d, operators_);
  const auto run_with = [&](base::Count host_blocks, double seconds) {
    SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), all);
    limits.blocks = 4 * 257, limits.host_blocks = host_blocks;
    return simulate(steps, limits, all, {.load_seconds_per_token = seconds});
  };
  const Simulation without = run_with(0, 0), fast = run_with(12 * 257, 1e-7), slow = run_with(12 * 257, 1e-5),
                   small = run_with(2 * 256, 1e-7);
  EXPECT_EQ(without.hit_share, 0);
  EXPECT_EQ(without.loaded_share, 0);
  // All but the first of each family; a full hit computes its last block again.
  EXPECT_NEAR(fast.loaded_share, 228.0 * 4080 / (240 * 4096), 1e-12);
  EXPECT_EQ(slow.loaded_share, fast.loaded_share);
  EXPECT_EQ(small.loaded_share, 0);  // the one that comes next was dropped last
  EXPECT_NEAR(slow.ttft_p50.value - fast.ttft_p50.value, 4080 * (1e-5 - 1e-7), 1e-3);
  EXPECT_LT(fast.ttft_p50.value, without.ttft_p50.value / 4);
  // A block's bytes over the link: 64 GB for 128 KiB a token.
  SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), all);
  machine::Accelerator accelerator = system_.accelerator;
  accelerator.host_bytes_per_s = 50e9;
  EXPECT_DOUBLE_EQ(add_host_memory(64e9, kv_memory(llama_, system_, d), accelerator, limits), 131072 / 50e9);
  EXPECT_EQ(limits.host_blocks, static_cast<base::Count>(64e9 / (131072 * 16)));
}

// Two hundred families of prompts in turns, 4,096 tokens in common in each and 512 that nobody else has: when one comes
// again, the device has dropped it, and the host has it.
std::vector<Request> families(double seconds, std::size_t count, base::SplitMix* random) {
  std::vector<Request> out;
  double now = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    now += random != nullptr ? -std::log(1 - uniform(*random)) * seconds : seconds;
    Request request{base::saturated(now * 1e9), 4608, 20};
    for (std::uint64_t b = 0; b < 8; ++b) request.contents.push_back(1 + 8 * (i % 200) + b);
    request.contents.push_back(10000 + i);
    out.push_back(request);
  }
  return out;
}

TEST_F(Simulate, OfCopiesInTheHostsMemoryAgreesWithTheClosedForm) {
  cluster::System system = system_;
  system.accelerator.host_bytes_per_s = 20e9;
  for (const Engine engine : {Engine::kVllm, Engine::kTensorRtLlm, Engine::kSglang}) {
    const Deployment d = completed({.engine = engine, .block_tokens = 16});
    const StepModel steps(llama_, system, d, operators_);
    const KvMemory memory = kv_memory(llama_, system, d);
    const auto simulated = [&](const std::vector<Request>& all, base::Count users) {
      SchedulerLimits limits = limits_of(d, memory, all);
      SimulationOptions options{.users = users, .skip_first = 500};
      options.load_seconds_per_token = add_host_memory(400e9, memory, system.accelerator, limits);
      const Simulation out = simulate(steps, limits, all, options);
      const double count = static_cast<double>(all.size());
      EXPECT_NEAR(out.loaded_share, (count - 200) * 4096.0 / (count * 4608), 0.02) << rules(engine).name;
      return out;
    };
    Load load;
    load.prompt = Lengths::constant(4608), load.output = Lengths::constant(20);
    load.host_hit = 4096.0 / 4608;
    const auto compare = [&](const Simulation& s, double first, double whole) {
      const Service closed = evaluate(llama_, system, d, load, operators_);
      const auto where = testing::Message() << rules(engine).name << " " << load.concurrency.value_or(0) << " users, "
                                            << load.rate.value_or(0) << " requests a second";
      EXPECT_NEAR(closed.ttft.mean, s.ttft_mean, first * s.ttft_mean) << where;
      EXPECT_NEAR(closed.e2e, s.e2e_mean, whole * s.e2e_mean) << where;
    };
    // One user: exactly. Several, who once began apart, go on so: their first tokens are others', not their requests.
    load.concurrency = 1;
    compare(simulated(families(0, 800, nullptr), 1), 1e-6, 1e-6);
    load.concurrency = 4;
    compare(simulated(families(0, 1200, nullptr), 4), 0.7, 0.05);
    load.concurrency.reset();
    for (const double rate : {4., 12.}) {
      base::SplitMix random(1);
      load.rate = rate;
      compare(simulated(families(1 / rate, 2000, &random), 0), 0.08, 0.1);
    }
    load.rate.reset();
  }
}

TEST_F(Simulate, ATimelineHasEveryStepAndTokensAreConserved) {
  const Simulation s = run(users(8, 700, 30), 40, {}, {.timeline = true});
  ASSERT_EQ(static_cast<std::int64_t>(s.timeline.size()), s.steps);
  std::int64_t prompts = 0, decodes = 0, before = 0;
  for (const SimulatedStep& step : s.timeline) {
    EXPECT_LE(before, step.begin);
    EXPECT_LT(step.begin, step.end);
    before = step.begin;
    prompts += step.prompt_tokens, decodes += step.decodes;
  }
  EXPECT_EQ(prompts, 40 * 700);
  EXPECT_EQ(decodes, 40 * 29);
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
  SchedulerLimits limits = limits_of(d, kv_memory(llama_, system_, d), {});
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
    check(completed(d), limits_of(completed(d), kv_memory(llama_, system_, completed(d)), requests), requests, found);
    return found.has_errors() ? found.all().front().code : std::string();
  };
  Deployment other;
  other.engine = Engine::kSglang;
  EXPECT_EQ(code({}, {{0, 5, 5}}), "");
  EXPECT_EQ(code(other, {{0, 5, 5}}), "");
  other.pp = 2;
  EXPECT_EQ(code(other, {{0, 5, 5}}), "");
  EXPECT_EQ(code({.engine = Engine::kTensorRtLlm, .pp = 2, .drafted = 1}, {{0, 5, 5}}), "O2075");
  EXPECT_EQ(code({.pp = 2}, {{0, 5, 5}}), "");
  EXPECT_EQ(code({}, {{0, 5, 0}}), "O2075");
  EXPECT_EQ(code({}, {{0, 5000000, 1}}), "O2075");
  EXPECT_EQ(code({}, {{7, 5, 5}, {6, 5, 5}}), "O2075");
}

}  // namespace
}  // namespace orrery::serving
