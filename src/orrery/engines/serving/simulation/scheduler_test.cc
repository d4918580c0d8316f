#include "orrery/engines/serving/simulation/scheduler.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "orrery/base/numbers/split_mix.h"
#include "orrery/engines/serving/simulation/literal_engines_test_util.h"
#include "orrery/engines/serving/simulation/random_request_test_util.h"

namespace orrery::serving {
namespace {

struct Case {
  SchedulerLimits limits;
  std::vector<Request> requests;
  std::vector<std::int64_t> comes;  // before which step
};

// Small pools and short steps, so that all rules meet; prompts that share beginnings.
Case random_case(std::uint64_t seed, Schedule schedule, std::size_t stages, bool guesses, bool offloads) {
  base::SplitMix random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random.next() % n); };
  Case out;
  out.limits.schedule = schedule;
  out.limits.block_tokens = below(2) == 0 ? 4 : 2;
  out.limits.max_sequences = 1 + below(8);
  out.limits.max_batched_tokens = 8 + below(40);
  out.limits.long_prompt = below(3) == 0 ? 1 + below(12) : 0;
  out.limits.prefix_caching = below(4) != 0;
  std::int32_t longest = 1;
  std::int64_t now = 0;
  for (int r = 4 + below(16); r > 0; --r) {
    const Request request = random_request(random, 30);
    longest = std::max(longest, request.length());
    out.requests.push_back(request);
    now += below(6);
    out.comes.push_back(now);
  }
  out.limits.chunked = below(4) != 0;
  if (!out.limits.chunked)
    out.limits.max_batched_tokens = std::max<base::Count>(out.limits.max_batched_tokens, longest);
  out.limits.context = below(2) == 0 ? longest : 0;
  out.limits.blocks = base::ceil_divide(longest, out.limits.block_tokens) + below(25);
  if (schedule == Schedule::kSglang) {  // has no such limits, and holds a page back
    out.limits.chunked = true;
    out.limits.long_prompt = out.limits.context = 0;
    out.limits.blocks += 2;
    out.limits.stages = static_cast<base::Count>(stages);
  }
  if (offloads) out.limits.host_blocks = 1 + below(60);
  if (guesses) {
    out.limits.drafted = 1 + below(5);
    out.limits.acceptance = 0.25 * below(5);
    out.limits.seed = seed;
    out.limits.blocks += base::ceil_divide(2 * out.limits.drafted, out.limits.block_tokens);
  }
  return out;
}

std::unique_ptr<LiteralScheduler> literal(const Case& c) {
  switch (c.limits.schedule) {
    case Schedule::kVllm:
      return std::make_unique<LiteralVllm>(c.limits, c.requests);
    case Schedule::kSglang:
      return std::make_unique<LiteralSglang>(c.limits, c.requests);
    case Schedule::kNoEvict:
    case Schedule::kMaxUtilization:
      break;
  }
  return std::make_unique<LiteralTrtllm>(c.limits, c.requests, c.limits.schedule == Schedule::kMaxUtilization);
}

// Both schedulers through a case, with so many steps under way at once; what differs first. `loaded`: cases in which
// something came from the host.
void compare(std::uint64_t seed, Schedule schedule, std::size_t stages, bool guesses, bool offloads, int& loaded) {
  const Case c = random_case(seed, schedule, stages, guesses, offloads);
  Scheduler fast(c.limits, c.requests);
  const std::unique_ptr<LiteralScheduler> slow = literal(c);
  std::size_t next = 0;
  std::deque<Scheduler::Step> under_way;
  std::multimap<std::int64_t, std::int32_t> loading;  // by the step before which it ends
  for (std::int64_t step = 0; next < c.requests.size() || !fast.idle() || !loading.empty(); ++step) {
    ASSERT_LT(step, 100000) << seed;
    for (; !loading.empty() && loading.begin()->first <= step; loading.erase(loading.begin())) {
      fast.fetched(loading.begin()->second);
      slow->fetched(loading.begin()->second);
    }
    for (; next < c.requests.size() && c.comes[next] <= step; ++next) {
      fast.add(static_cast<std::int32_t>(next));
      slow->add(static_cast<int>(next));
    }
    ASSERT_EQ(fast.idle(), slow->idle()) << seed;
    if (fast.idle()) continue;
    const Scheduler::Step expected = slow->next();
    const Scheduler::Step& got = fast.next();
    ASSERT_EQ(got.shares, expected.shares) << static_cast<int>(schedule) << " " << seed << " step " << step;
    ASSERT_EQ(got.preempted, expected.preempted) << seed << " step " << step;
    ASSERT_EQ(got.fetching, expected.fetching) << seed << " step " << step;
    ASSERT_EQ(got.loaded, expected.loaded) << seed << " step " << step;
    for (const Scheduler::Share& share : got.fetching)
      loading.emplace(step + 1 + (share.request + share.context) % 4, share.request);
    base::Count tokens = 0;
    for (const Scheduler::Share& share : got.shares) tokens += share.tokens;
    const base::Count decodes =
        schedule == Schedule::kSglang ? c.limits.max_sequences * (1 + c.limits.drafted) : base::Count{0};
    ASSERT_LE(tokens, std::max(c.limits.max_batched_tokens, decodes)) << seed;
    // A prompt that goes on is taken by a turn that is full, too.
    if (c.limits.stages == 1) {
      ASSERT_LE(static_cast<base::Count>(got.shares.size()), c.limits.max_sequences) << seed;
    }
    if (!got.shares.empty()) under_way.push_back(got);
    const bool waits = under_way.empty() && !loading.empty();
    if (!waits && (under_way.size() == stages || (got.shares.empty() && got.preempted.empty()))) {
      ASSERT_FALSE(under_way.empty()) << seed << ": nothing runs, and nothing will";
      std::vector<std::pair<int, int>> produced;
      fast.complete(under_way.front(),
                    [&](std::int32_t request, std::int32_t count, bool) { produced.emplace_back(request, count); });
      ASSERT_EQ(produced, slow->complete(under_way.front())) << seed << " step " << step;
      under_way.pop_front();
    }
    ASSERT_EQ(static_cast<std::size_t>(fast.free_blocks()), slow->free_blocks()) << seed << " step " << step;
    ASSERT_TRUE(slow->blocks_are_conserved()) << seed;
  }
  ASSERT_EQ(fast.free_blocks(), c.limits.blocks) << seed;
  loaded += fast.loaded_tokens() > 0;
}

void compare_all(Schedule schedule, std::size_t stages, bool guesses = false, bool offloads = false) {
  const char* more = std::getenv("ORRERY_TRACES");
  std::uint64_t traces = more != nullptr ? std::strtoull(more, nullptr, 10) : 5000;
  if (offloads && (guesses || stages > 1)) traces /= 5;
  int loaded = 0;
  for (std::uint64_t seed = 0; seed < traces && !testing::Test::HasFatalFailure(); ++seed)
    compare(seed, schedule, stages, guesses, offloads, loaded);
  if (offloads) {
    EXPECT_GT(loaded, static_cast<int>(traces / 50)) << static_cast<int>(schedule);
  }
}

TEST(Scheduler, IsTheLiteralReadingOfTheRulesOnRandomTraces) {
  compare_all(Schedule::kVllm, 1);
}
TEST(Scheduler, IsTheLiteralReadingWithStepsUnderWayInStages) {
  compare_all(Schedule::kVllm, 3);
}
TEST(Scheduler, IsTheLiteralReadingOfTensorRtLlmsRules) {
  compare_all(Schedule::kNoEvict, 1);
  compare_all(Schedule::kMaxUtilization, 1);
  compare_all(Schedule::kNoEvict, 2);
}
TEST(Scheduler, IsTheLiteralReadingOfSglangsRules) {
  compare_all(Schedule::kSglang, 1);
}
TEST(Scheduler, IsTheLiteralReadingOfSglangsPipelines) {
  compare_all(Schedule::kSglang, 2);
  compare_all(Schedule::kSglang, 3);
}
TEST(Scheduler, IsTheLiteralReadingWithGuesses) {
  for (const Schedule schedule : {Schedule::kVllm, Schedule::kNoEvict, Schedule::kMaxUtilization, Schedule::kSglang})
    compare_all(schedule, 1, true);
}

TEST(Scheduler, IsTheLiteralReadingWithCopiesInTheHostsMemory) {
  compare_all(Schedule::kVllm, 1, false, true);
  compare_all(Schedule::kVllm, 2, false, true);
  compare_all(Schedule::kVllm, 1, true, true);
}

TEST(Scheduler, IsTheLiteralReadingOfOtherEnginesCopiesInTheHostsMemory) {
  for (const Schedule schedule : {Schedule::kNoEvict, Schedule::kMaxUtilization, Schedule::kSglang})
    for (const bool guesses : {false, true}) compare_all(schedule, 1, guesses, true);
  compare_all(Schedule::kNoEvict, 2, false, true);
  compare_all(Schedule::kSglang, 3, false, true);
}

TEST(Scheduler, ServesRunningSequencesBeforeWaitingOnes) {
  const std::vector<Request> requests = {{0, 4, 3}, {0, 100, 1}};
  SchedulerLimits limits;
  limits.blocks = 100;
  limits.max_batched_tokens = 8;
  Scheduler s(limits, requests);
  s.add(0);
  s.add(1);
  const Scheduler::Step& step = s.next();
  EXPECT_EQ(step.shares, (std::vector<Scheduler::Share>{{0, 4, 0}, {1, 4, 0}}));
  s.complete(step, [](std::int32_t, std::int32_t, bool) {});
  EXPECT_EQ(s.next().shares, (std::vector<Scheduler::Share>{{0, 1, 4}, {1, 7, 4}}));
}

TEST(Scheduler, PreemptsTheLastAndFindsItsBlocksAgain) {
  // Two sequences of two blocks each, a pool of four: the first one's third block costs the second one its own.
  const std::vector<Request> requests = {{0, 8, 8}, {0, 8, 8}};
  SchedulerLimits limits;
  limits.blocks = 4;
  limits.block_tokens = 4;
  Scheduler s(limits, requests);
  s.add(0);
  s.add(1);
  const Scheduler::Step& step = s.next();
  s.complete(step, [](std::int32_t, std::int32_t, bool) {});
  EXPECT_EQ(s.next().preempted, std::vector<std::int32_t>{1});
  EXPECT_EQ(s.free_blocks(), 1);
  while (!s.idle()) {
    s.complete(step, [](std::int32_t, std::int32_t, bool) {});
    s.next();
  }
  EXPECT_EQ(s.free_blocks(), 4);
}

TEST(Scheduler, SharesPrefixesFromTheStepOnInWhichTheyAreScheduled) {
  const std::vector<Request> requests = {{0, 1024, 1, {5, 6}}, {0, 1024, 1, {5, 6}}, {0, 1024, 1, {5, 7}}};
  SchedulerLimits limits;
  limits.blocks = 1000;
  Scheduler s(limits, requests);
  for (int r = 0; r < 3; ++r) s.add(r);
  // A full hit computes its last block again.
  EXPECT_EQ(s.next().shares, (std::vector<Scheduler::Share>{{0, 1024, 0}, {1, 16, 1008}, {2, 512, 512}}));
  EXPECT_EQ(s.hit_tokens(), 1008 + 512);
}

}  // namespace
}  // namespace orrery::serving
