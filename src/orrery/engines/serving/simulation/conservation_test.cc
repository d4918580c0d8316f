// What no schedule may break, whatever the engine: tokens are computed in order and produced once, blocks come back,
// time goes on.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"
#include "orrery/engines/serving/simulation/random_request_test_util.h"
#include "orrery/engines/serving/simulation/replay.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr std::uint64_t kSchedules = 10'000;

// A deployment, or two pools, with few blocks and short steps, and requests whose prompts share beginnings.
struct Question {
  Deployment reads, goes_on;  // the same where there is one pool
  bool pools = false;
  SchedulerLimits limits;
  std::vector<Request> requests;
  Count users = 0;
  Router router = Router::kRoundRobin;
};

std::vector<Request> random_requests(base::SplitMix& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.next() % n); };
  std::vector<Request> out(static_cast<std::size_t>(2 + below(12)));
  std::int64_t now = 0;
  for (Request& request : out) {
    now += below(3) == 0 ? 0 : below(40'000'000);
    request = random_request(random, 20);
    request.arrival_ns = now;
  }
  return out;
}

Question random_question(std::uint64_t seed) {
  base::SplitMix random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<Count>(random.next() % n); };
  Question out;
  Deployment& d = out.reads;
  d.engine = static_cast<Engine>(below(3));
  d.replicas = 1 + below(3);
  d.dp = 1 + below(3);
  d.pp = Count{1} << below(3);
  d.evicts = d.engine == Engine::kTensorRtLlm && below(2) == 0;
  d.synchronous = below(2) == 0;
  if (below(3) == 0) d.pp = 1, d.drafted = 1 + below(4), d.acceptance = 0.25 * static_cast<double>(below(5));
  d.max_sequences = 1 + below(8);
  d.max_batched_tokens = 8 + below(60);
  out.requests = random_requests(random);
  d = completed(d);
  out.goes_on = d;
  if (out.pools = below(3) == 0; out.pools) out.goes_on.replicas = 1 + below(2), out.goes_on.dp = 1 + below(2);
  KvMemory memory;
  memory.block_tokens = 2 + 2 * below(2);
  memory.blocks = base::ceil_divide(Count{60} + 3 * d.drafted, memory.block_tokens) + 2 + below(25);
  out.limits = limits_of(d, memory, out.requests);
  out.limits.prefix_caching = below(4) != 0;
  out.limits.seed = seed;
  if (!out.pools && below(2) == 0) out.limits.host_blocks = 1 + below(60);
  if (below(2) == 0) out.users = std::min<Count>(1 + below(6), static_cast<Count>(out.requests.size()));
  out.router = static_cast<Router>(below(3));
  return out;
}

// One scheduler alone, a step at a time.
class Alone {
 public:
  explicit Alone(const Question& q) : q_(q), scheduler_(q.limits, q.requests), lives_(q.requests.size()) {}

  void run() {
    for (std::size_t r = 0; r < lives_.size(); ++r) scheduler_.add(static_cast<std::int32_t>(r));
    for (int idle = 0; !scheduler_.idle(); ++idle) {
      ASSERT_LT(idle, 3) << "nothing runs, and nothing will";
      const Scheduler::Step step = scheduler_.next();
      if (!step.empty()) idle = -1;
      for (const std::int32_t r : step.preempted) life(r).computed.reset();
      for (const Scheduler::Share& share : step.fetching) life(share.request).computed.reset();
      ASSERT_NO_FATAL_FAILURE(computes(step));
      for (const Scheduler::Share& share : step.fetching) scheduler_.fetched(share.request);
    }
    EXPECT_EQ(scheduler_.free_blocks(), q_.limits.blocks);
    for (std::size_t r = 0; r < lives_.size(); ++r) {
      EXPECT_EQ(lives_[r].produced, q_.requests[r].output);
      EXPECT_EQ(lives_[r].computed, q_.requests[r].length() - 1);
    }
  }

 private:
  struct Life {
    std::optional<Count> computed;  // tokens of it, for good; nothing: it begins anew
    std::int32_t produced = 0;
  };
  Life& life(std::int32_t request) { return lives_[static_cast<std::size_t>(request)]; }

  void computes(const Scheduler::Step& step) {
    for (const Scheduler::Share& share : step.shares) {
      Life& of = life(share.request);
      if (of.computed) {
        ASSERT_EQ(share.context, *of.computed) << "request " << share.request;
      }
      ASSERT_GT(share.tokens, share.guesses);
      of.computed = Count{share.context} + share.tokens - share.guesses;
    }
    ASSERT_GE(scheduler_.free_blocks(), 0);
    ASSERT_LE(scheduler_.free_blocks(), q_.limits.blocks);
    scheduler_.complete(step, [&](std::int32_t request, std::int32_t produced, bool ended) {
      Life& of = life(request);
      const std::int32_t more = produced - of.produced;
      EXPECT_GE(more, 1);
      EXPECT_LE(more, 1 + q_.limits.drafted);
      EXPECT_EQ(ended, produced == q_.requests[static_cast<std::size_t>(request)].output);
      of.produced = produced;
      *of.computed += more - 1;
    });
  }

  const Question& q_;
  Scheduler scheduler_;
  std::vector<Life> lives_;
};

class Conservation : public ::testing::Test {
 protected:
  Simulation simulated(const Question& q) const {
    const StepModel reads(model_, system_, q.reads, operators_), goes_on(model_, system_, q.goes_on, operators_);
    const Handover handover{goes_on, q.limits, [](Count tokens) { return 1e-6 * static_cast<double>(tokens); }};
    SimulationOptions options;
    options.router = q.router;
    options.users = q.users;
    options.timeline = true;
    if (q.pools) options.handover = &handover;
    if (q.limits.host_blocks > 0) options.load_seconds_per_token = 1e-5;
    return simulate(reads, q.limits, q.requests, options);
  }

  const cluster::System system_ = test_system();
  const ServedRoofline operators_{system_.accelerator};
  const ServedModel model_ = test_model(test_mixture());
};

TEST_F(Conservation, TokensAreComputedInOrderAndProducedOnceAndBlocksComeBack) {
  for (std::uint64_t seed = 0; seed < kSchedules && !HasFailure(); ++seed) {
    const Question q = random_question(seed);
    base::Diagnostics found;
    check(q.reads, q.limits, q.requests, found);
    ASSERT_FALSE(found.has_errors()) << seed << ": " << found.all().front().message;
    SCOPED_TRACE(seed);
    Alone(q).run();
  }
}

TEST_F(Conservation, StepsHaveTheTokensOfTheRequestsWithinTheBlocksAndTimeGoesOn) {
  std::array<int, 4> seen = {};  // pools, preemptions, guesses, copies from the host
  for (std::uint64_t seed = 0; seed < kSchedules && !HasFailure(); ++seed) {
    const Question q = random_question(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << rules(q.reads.engine).name
                                    << (q.pools ? ", pools" : "") << ", pp " << q.reads.pp << ", dp " << q.reads.dp
                                    << ", guesses " << q.reads.drafted << ", host blocks " << q.limits.host_blocks);
    const Simulation s = simulated(q);
    seen[0] += q.pools, seen[1] += s.preemptions > 0, seen[2] += q.reads.drafted > 0, seen[3] += s.loaded_share > 0;
    Count prompts = 0, outputs = 0, read = 0, decoded = 0;
    for (std::size_t r = 0; r < q.requests.size(); ++r) {
      prompts += q.requests[r].prompt, outputs += q.requests[r].output;
      EXPECT_GE(s.requests[r].arrival, q.users > 0 ? 0 : q.requests[r].arrival_ns);
      EXPECT_LT(s.requests[r].arrival, s.requests[r].first);
      EXPECT_LE(s.requests[r].first, s.requests[r].end);
    }
    std::int64_t before = 0;
    std::array<std::int64_t, 8> ends = {};
    for (const SimulatedStep& step : s.timeline) {
      const bool first = q.pools && step.engine < q.reads.replicas;
      const Count groups = first || !q.pools ? q.reads.dp : q.goes_on.dp;
      EXPECT_LE(before, step.begin);
      EXPECT_LT(step.begin, step.end);
      EXPECT_LT(ends[static_cast<std::size_t>(step.engine)], step.end);
      before = step.begin, ends[static_cast<std::size_t>(step.engine)] = step.end;
      EXPECT_GE(step.blocks, 0);
      EXPECT_LE(step.blocks, groups * q.limits.blocks);
      read += step.prompt_tokens, decoded += step.decodes + step.accepted;
    }
    EXPECT_LE(s.most_blocks, q.limits.blocks);
    // Prompts bring the first tokens, steps that decode the others; who is preempted reads what it had as a prompt.
    const Count others = outputs - static_cast<Count>(q.requests.size());
    EXPECT_LE(decoded, others);
    EXPECT_GE(decoded + s.preemptions, others);
    const double found = std::round((s.hit_share + s.loaded_share) * static_cast<double>(prompts));
    if (s.preemptions == 0) {
      EXPECT_EQ(static_cast<double>(read) + found, static_cast<double>(prompts));
    }
  }
  for (const int times : seen) EXPECT_GT(times, 100);
}

}  // namespace
}  // namespace orrery::serving
