#include "orrery/engines/serving/model/waiting.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/numbers/split_mix.h"

namespace orrery::serving {
namespace {

PromptQueue prompts(double rate, double pure, double prompt, double batch = 1000) {
  PromptQueue out;
  out.rate = rate, out.pure = pure, out.batch = batch;
  out.first = pure + prompt;
  out.full = pure + prompt * batch;
  for (const double n : PromptQueue::kPrompts) out.begun[out.known++] = pure + prompt * n;
  return out;
}

// Steps one after the other, each with all prompts that came in the one before.
struct Steps {
  double mean = 0, square = 0;
};
Steps simulated(const PromptQueue& q, int requests) {
  base::SplitMix random(5);
  double step = q.pure, begins = 0, next = 0, sum = 0, squares = 0;
  const auto gap = [&] { return -std::log(1 - uniform(random)) / q.rate; };
  next = gap();
  for (int done = 0; done < requests;) {
    if (step == 0) begins = next;  // nothing runs
    const double ends = step == 0 ? std::nextafter(begins, INFINITY) : begins + step;
    std::vector<double> came;
    while (next < ends) came.push_back(next), next += gap();
    const double following = q.seconds(static_cast<double>(came.size()));
    for (const double at : came) {
      const double first = ends - at + following - q.first;
      sum += first, squares += first * first, ++done;
    }
    begins = ends, step = following;
  }
  return {sum / requests, squares / requests};
}

TEST(Waiting, IsThatOfGatedSteps) {
  for (const double load : {0.1, 0.5, 0.8}) {
    const PromptQueue q = prompts(load / 0.05, 0.01, 0.05);
    const Steps found = simulated(q, 400000);
    const Spread of = first_token(q);
    EXPECT_NEAR(of.mean, found.mean, 0.03 * found.mean) << load;
    EXPECT_NEAR(of.variance, found.square - found.mean * found.mean, 0.1 * of.variance) << load;
  }
}

TEST(Waiting, IsThatOfGatedStepsWhosePromptsShareWhatTheyRead) {
  for (const double pure : {0.0, 0.004, 0.02})
    for (const double rate : {5., 30., 60., 120., 400., 2000.}) {
      PromptQueue q = prompts(rate, pure, 0);
      for (std::size_t k = 0; k < q.known; ++k)  // the first one reads weights for all
        q.begun[k] = std::max(pure, 0.02) + 0.0002 * PromptQueue::kPrompts[k];
      q.first = q.begun[0], q.full = q.seconds(q.batch);
      const Steps found = simulated(q, 400000);
      const Spread of = first_token(q);
      const double own = of.least + found.mean;
      EXPECT_NEAR(of.mean, found.mean, 0.01 * own) << pure << " " << rate;
      EXPECT_NEAR(std::sqrt(of.variance), std::sqrt(found.square - found.mean * found.mean), 0.02 * own)
          << pure << " " << rate;
    }
}

TEST(Waiting, GrowsAsThatOfAQueueWhereNothingElseRuns) {
  // Steps of prompts alone, one as long as the other, nearly as fast as they come: n of them take n times as long.
  for (const double load : {0.5, 0.8, 0.95}) {
    const PromptQueue q = prompts(load / 0.01, 0, 0.01);
    const Steps found = simulated(q, 4000000);
    EXPECT_NEAR(first_token(q).mean, found.mean, 0.05 * found.mean) << load;
  }
}

// Prompts one after the other; a step reads what it has room for, of the last one a part.
Steps read_in_order(const PromptQueue& q, int requests) {
  struct Prompt {
    double came = 0, left = 1;
  };
  base::SplitMix random(7);
  const auto gap = [&] { return -std::log(1 - uniform(random)) / q.rate; };
  double now = 0, next = gap(), sum = 0, squares = 0;
  std::deque<Prompt> waiting;
  for (int done = 0; done < requests;) {
    double room = q.batch;
    std::vector<double> ended;
    while (!waiting.empty() && room > 1e-9) {
      const double read = std::min(room, waiting.front().left);
      room -= read, waiting.front().left -= read;
      if (waiting.front().left > 1e-9) break;
      ended.push_back(waiting.front().came);
      waiting.pop_front();
    }
    now += q.seconds(q.batch - room);
    for (const double came : ended) {
      const double first = now - came - q.first;
      sum += first, squares += first * first, ++done;
    }
    for (; next <= now; next += gap()) waiting.push_back({next, 1});
  }
  return {sum / requests, squares / requests};
}

TEST(Waiting, OfStepsThatHaveRoomForFewPromptsIsNotCountedTwice) {
  for (const double batch : {1.5, 2.0, 4.0})
    for (const double load : {0.2, 0.5, 0.8}) {
      const PromptQueue q = prompts(load / 0.1, 0.01, 0.1, batch);
      const Steps found = read_in_order(q, 300000);
      const Spread of = first_token(q);
      EXPECT_NEAR(of.least + of.mean, q.first + found.mean, 0.15 * (q.first + found.mean)) << batch << " " << load;
    }
}

TEST(Waiting, OfPromptsOfSeveralStepsIsThatOfAnMD1Queue) {
  PromptQueue q = prompts(5, 0, 0.1, 0.5);
  q.full = q.first = 0.1;
  const Spread of = first_token(q);
  EXPECT_NEAR(of.mean, 0.5 * 0.1 / (2 * 0.5), 1e-12);
  EXPECT_NEAR(of.variance, 0.05 * 0.05 + 0.5 * 0.01 / (3 * 0.5), 1e-12);
}

TEST(Waiting, RisesWithRateAndWithBursts) {
  double before = 0;
  for (const double rate : {1., 5., 10., 15., 19.}) {
    const double now = first_token(prompts(rate, 0.01, 0.05)).mean;
    EXPECT_GT(now, before);
    before = now;
  }
  PromptQueue bursts = prompts(10, 0.01, 0.05);
  bursts.variation = 4;
  EXPECT_GT(first_token(bursts).mean, first_token(prompts(10, 0.01, 0.05)).mean);
}

TEST(Waiting, ForAPlaceIsRareBelowTheMostAndLongBeyond) {
  const auto mean = [](double running) {
    Spread out;
    add_admission(9.5, 10, running, 100, 0, 1, out);
    return out.mean;
  };
  EXPECT_LT(mean(50), 1e-6);
  EXPECT_GT(mean(95), mean(80));
  EXPECT_LE(mean(99), 1. / (2 * 10 * 0.05));
}

TEST(Waiting, HasPercentilesOfItsDistribution) {
  // Exponential: the median is ln 2, 99 of 100 are below ln 100.
  const FirstToken of = percentiles({1, 2, 4});
  EXPECT_EQ(of.mean, 3);
  EXPECT_NEAR(of.p50, 1 + 2 * std::log(2), 0.03);
  EXPECT_NEAR(of.p99, 1 + 2 * std::log(100), 0.1);
  EXPECT_EQ(percentiles({1, 0, 0}).p99, 1);
}

}  // namespace
}  // namespace orrery::serving
