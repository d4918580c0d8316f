#include "orrery/engines/cluster/search/optimize.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "orrery/engines/cluster/model/random_plan_test_util.h"
#include "orrery/engines/cluster/search/plan_conflict.h"
#include "orrery/engines/cluster/search/plan_search_test_util.h"

namespace orrery::cluster {
namespace {

Optimum searched(const Model& model, const System& system, const Asked& asked, SearchOptions options = {}) {
  const machine::Roofline operators(system.accelerator);
  return optimize(model, system, asked.space, asked.objective, asked.limits, operators, base::Budget(), options);
}

TEST(Optimize, FindsWhatTryingEveryPlanFindsInRandomSpaces) {
  int with_plans = 0, without = 0;
  double plans = 0;
  const char* more = std::getenv("ORRERY_SPACES");
  const unsigned spaces = more == nullptr ? 1000 : static_cast<unsigned>(std::stoul(more));
  for (unsigned seed = 0; seed < spaces; ++seed) {
    Draw draw(seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    const Asked asked = random_space(draw, model, system, 12, 12);
    const machine::Roofline operators(system.accelerator);
    std::vector<Candidate> all = tried_one_by_one(model, system, asked, operators);
    plans += static_cast<double>(all.size());
    all = ranked(std::move(all), asked.objective.all().size());
    SearchOptions options;
    options.top = 1 + static_cast<std::size_t>(seed % 4);
    const Optimum found = searched(model, system, asked, options);
    ASSERT_TRUE(found.certificate.optimal);
    ASSERT_EQ(found.best.size(), std::min(options.top, all.size())) << "seed " << seed;
    for (std::size_t i = 0; i < found.best.size(); ++i) {
      ASSERT_EQ(found.best[i].score, all[i].score) << "seed " << seed << " rank " << i;
      ASSERT_TRUE(same_plan(found.best[i].plan, all[i].plan)) << "seed " << seed << " rank " << i;
      ASSERT_EQ(found.best[i].iteration.iteration_s,
                evaluate(model, system, found.best[i].plan, operators).iteration_s);
    }
    ++(all.empty() ? without : with_plans);
  }
  EXPECT_GT(with_plans, 300);
  EXPECT_GT(without, 15);
  EXPECT_GT(plans, 3e4);
}

TEST(Optimize, FindsTheWholeFrontOfRandomSpaces) {
  std::size_t points = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    Draw draw(10'000 + seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    Asked asked = random_space(draw, model, system, 10, 8);
    asked.objective.front = true;
    asked.objective.metrics = {Metric::kTime, Metric::kMemory};
    if (seed % 2 == 1) asked.objective.metrics.push_back(Metric::kCost);
    const machine::Roofline operators(system.accelerator);
    const std::vector<Candidate> all = tried_one_by_one(model, system, asked, operators);
    const std::size_t metrics = asked.objective.metrics.size();
    const auto beats = [&](const Candidate& a, const Candidate& b) {
      bool less = false;
      for (std::size_t i = 0; i < metrics; ++i) {
        if (a.score[i] > b.score[i]) return false;
        less = less || a.score[i] < b.score[i];
      }
      return less || comes_before(a.plan, b.plan);
    };
    std::vector<Candidate> front;
    for (const Candidate& each : all)
      if (std::none_of(all.begin(), all.end(), [&](const Candidate& other) { return beats(other, each); }))
        front.push_back(each);
    const Optimum found = searched(model, system, asked);
    ASSERT_EQ(found.best.size(), front.size()) << "seed " << seed;
    for (const Candidate& each : front)
      ASSERT_TRUE(std::any_of(found.best.begin(), found.best.end(),
                              [&](const Candidate& other) { return same_plan(other.plan, each.plan); }))
          << "seed " << seed;
    points += front.size();
  }
  EXPECT_GT(points, 500u);
}

TEST(Optimize, TheBestOfEveryCellIsThatOfTheCellAlone) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(20'000 + seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    const Asked asked = random_space(draw, model, system, 16, 12);
    SearchOptions options;
    options.cells = true;
    for (const Candidate& cell : searched(model, system, asked, options).best) {
      Asked alone = asked;
      alone.space.of(Variable::kTp) = {cell.plan.tp};
      alone.space.of(Variable::kPp) = {cell.plan.pp};
      const Optimum best = searched(model, system, alone);
      ASSERT_EQ(best.best.size(), 1U);
      ASSERT_TRUE(same_plan(best.best[0].plan, cell.plan)) << "seed " << seed;
    }
  }
}

TEST(Optimize, CountsThePlansOfASpaceWithoutGoingThroughThem) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Draw draw(30'000 + seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    Asked asked = random_space(draw, model, system, 16, 12);
    asked.limits = {};
    const Domain domain(model, system, asked.space);
    double plans = 0;
    domain.each([&](const Plan&) {
      ++plans;
      return true;
    });
    const machine::Roofline operators(system.accelerator);
    EXPECT_EQ(plans, static_cast<double>(tried_one_by_one(model, system, asked, operators).size())) << "seed " << seed;
    EXPECT_EQ(plans, domain.count()) << "seed " << seed;
  }
}

Asked gpt3_on(base::Count gpus) {
  Asked asked;
  asked.space.most_gpus = asked.objective.least_gpus = gpus;
  asked.space.of(Variable::kGlobalBatch) = {1536};
  asked.limits.memory = a100(1600).accelerator.memory_bytes;
  return asked;
}

TEST(Optimize, ThreadsChangeNothingButTheTime) {
  const Model model = gpt(96, 12288, 96);
  for (const Metric metric : {Metric::kTime, Metric::kCost, Metric::kMemory}) {
    Asked asked = gpt3_on(128);
    asked.objective.metrics = {metric};
    SearchOptions options;
    options.top = 7;
    const Optimum one = searched(model, a100(1600), asked, options);
    for (const int threads : {2, 3, 8}) {
      options.threads = threads;
      const Optimum several = searched(model, a100(1600), asked, options);
      ASSERT_EQ(several.best.size(), one.best.size());
      for (std::size_t i = 0; i < one.best.size(); ++i) EXPECT_TRUE(same_plan(several.best[i].plan, one.best[i].plan));
      EXPECT_EQ(several.certificate.evaluated, one.certificate.evaluated);
      for (std::size_t i = 0; i < one.certificate.pruned.size(); ++i)
        EXPECT_EQ(several.certificate.pruned[i].count, one.certificate.pruned[i].count);
    }
  }
}

TEST(Optimize, PlainEnumerationFindsTheSameAndGoesThroughAll) {
  const Model model = gpt(96, 12288, 96);
  const Asked asked = gpt3_on(64);
  SearchOptions options;
  options.top = 5;
  const Optimum quick = searched(model, a100(1600), asked, options);
  options.enumerate = true;
  options.threads = 0;
  const Optimum plain = searched(model, a100(1600), asked, options);
  ASSERT_EQ(plain.best.size(), quick.best.size());
  for (std::size_t i = 0; i < plain.best.size(); ++i) EXPECT_TRUE(same_plan(plain.best[i].plan, quick.best[i].plan));
  EXPECT_EQ(static_cast<double>(plain.certificate.evaluated + plain.certificate.pruned.at(1).count),
            plain.certificate.space);
  EXPECT_LT(quick.certificate.evaluated, plain.certificate.evaluated / 50);
}

TEST(Optimize, ASpentBudgetLeavesABoundThatHolds) {
  const Model model = gpt(96, 12288, 96);
  const Asked asked = gpt3_on(512);
  const double best = searched(model, a100(1600), asked).best.at(0).score[0];
  const machine::Roofline operators(a100(1600).accelerator);
  base::Limits limits;
  for (const double seconds : {1e-9, 0.002, 0.01}) {
    limits.seconds = seconds;
    const Optimum part =
        optimize(model, a100(1600), asked.space, asked.objective, asked.limits, operators, base::Budget(limits), {});
    EXPECT_LE(part.certificate.lower_bound, best * (1 + 1e-12));
    if (!part.best.empty()) {
      EXPECT_GE(part.best[0].score[0], best);
      EXPECT_GE(part.best[0].score[0] * (1 - part.certificate.gap), part.certificate.lower_bound * (1 - 1e-9));
    }
    EXPECT_EQ(part.certificate.optimal, part.finished);
  }
}

// Sets a stop after so many questions, and counts those that come all the same.
class Stopping final : public machine::OperatorModel {
 public:
  Stopping(const machine::OperatorModel& operators, long after)
      : stop(after == 0), operators_(operators), left_(after) {}

  double matrix_product_seconds(const machine::MatrixProduct& product) const override {
    count();
    return operators_.matrix_product_seconds(product);
  }
  double memory_bound_seconds(double bytes) const override {
    count();
    return operators_.memory_bound_seconds(bytes);
  }
  double issue_seconds() const override { return operators_.issue_seconds(); }

  mutable std::atomic<bool> stop;
  long too_late() const { return std::max(0L, -left_); }

 private:
  void count() const {
    if (--left_ <= 0) stop = true;
  }

  const machine::OperatorModel& operators_;
  mutable long left_;
};

TEST(Optimize, AStopEndsEveryPartOfTheSearchSoon) {
  const Model model = gpt(96, 12288, 96);
  const System system = a100(1600);
  const machine::Roofline roofline(system.accelerator);
  const Asked asked = gpt3_on(512);
  const double best = searched(model, system, asked).best.at(0).score[0];
  int answers = 0, silent = 0;
  for (long after = 0; after < 30'000'000; after = std::max(1L, 4 * after)) {
    const Stopping operators(roofline, after);
    const base::Limits limits{.stop = &operators.stop};
    const Optimum part =
        optimize(model, system, asked.space, asked.objective, asked.limits, operators, base::Budget(limits), {});
    EXPECT_LT(operators.too_late(), 100'000) << after;  // some milliseconds
    if (!operators.stop) break;
    EXPECT_FALSE(part.finished) << after;
    EXPECT_FALSE(part.certificate.optimal) << after;
    if (part.best.empty()) {
      ++silent;
      continue;
    }
    ++answers;
    EXPECT_GE(part.best[0].score[0], best);
    EXPECT_LE(part.certificate.lower_bound, best * (1 + 1e-12));
  }
  EXPECT_GT(silent, 0);
  EXPECT_GT(answers, 3);
}

TEST(Optimize, WithoutTimeThereIsStillABound) {
  const Model model = gpt(96, 12288, 96);
  const System system = a100(1600);
  const Asked asked = gpt3_on(512);
  const machine::Roofline operators(system.accelerator);
  const double best = searched(model, system, asked).best.at(0).score[0];
  // The answers of ever later ends, each with a gap that holds; the first of them as well is within reach of the best.
  base::Limits limits;
  limits.seconds = 0.005;
  for (int answers = 0; answers < 3; limits.seconds *= 2) {
    ASSERT_LT(limits.seconds, 100);
    const Optimum part =
        optimize(model, system, asked.space, asked.objective, asked.limits, operators, base::Budget(limits), {});
    if (part.best.empty()) continue;
    ++answers;
    EXPECT_GT(part.certificate.lower_bound, best / 4);
    EXPECT_LE(part.certificate.lower_bound, best * (1 + 1e-12));
  }
}

// What helps hardware or widens the choice never makes the best plan worse.
TEST(Optimize, MoreBandwidthMemorySpeedChoicesOrAcceleratorsNeverHurt) {
  const auto best = [](const Model& model, const System& system, const Asked& asked) {
    const Optimum found = searched(model, system, asked);
    return found.best.empty() ? std::numeric_limits<double>::infinity() : found.best[0].score[0];
  };
  int solved = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    Draw draw(40'000 + seed);
    const Model model = random_model(draw);
    const System system = random_system(draw);
    Asked asked = random_space(draw, model, system, 24, 16);
    asked.objective.metrics = {static_cast<Metric>(seed % 6)};
    asked.limits.memory = system.accelerator.memory_bytes;
    const double before = best(model, system, asked) * (1 + 1e-12);
    if (std::isfinite(before)) ++solved;
    for (const int level : {0, 1}) {
      System faster = system;
      faster.fabric.levels[static_cast<std::size_t>(level)].bytes_per_s *= 1.7;
      EXPECT_LE(best(model, faster, asked), before) << "seed " << seed << " network " << level;
    }
    System faster = system;
    for (double& peak : faster.accelerator.peak_flops_per_s) peak *= 1.5;
    EXPECT_LE(best(model, faster, asked), before) << "seed " << seed;
    faster = system;
    faster.accelerator.memory_bytes_per_s *= 1.5;
    EXPECT_LE(best(model, faster, asked), before) << "seed " << seed;
    Asked wider = asked;
    wider.limits.memory *= 1.3;
    EXPECT_LE(best(model, system, wider), before) << "seed " << seed;
    wider = asked;
    wider.space.most_gpus += 1 + draw.below(8);
    EXPECT_LE(best(model, system, wider), before) << "seed " << seed;
    if (system.accelerator.host_bytes_per_s > 0) {
      faster = system;
      faster.accelerator.host_bytes_per_s *= 1.5;
      EXPECT_LE(best(model, faster, asked), before) << "seed " << seed;
    }
    wider = asked;
    wider.limits.in_use *= 1.1;
    EXPECT_LE(best(model, system, wider), before) << "seed " << seed;
    wider = asked;  // software that can do more
    wider.space.base.stack.lacks &= static_cast<Features>(draw.below(1 << 26));
    EXPECT_LE(best(model, system, wider), before) << "seed " << seed;
    for (const auto& [variable, more] : {std::pair<Variable, base::Count>{Variable::kTp, 4},
                                         {Variable::kPp, 2},
                                         {Variable::kSchedule, 2},
                                         {Variable::kRecompute, 2},
                                         {Variable::kZero, 3},
                                         {Variable::kOrder, 1},
                                         {Variable::kOffloadOptimizer, kWholeShare}}) {
      if (asked.space.open(variable)) continue;
      wider = asked;
      wider.space.of(variable).push_back(more);
      EXPECT_LE(best(model, system, wider), before) << "seed " << seed << " " << name(variable) << " " << more;
    }
    wider = asked;
    const Variable freed =
        kVariables[static_cast<std::size_t>(1 + draw.below(static_cast<base::Count>(kVariables.size()) - 1))];
    wider.space.of(freed).clear();
    if (!(freed == Variable::kSchedule || freed == Variable::kOrder || freed == Variable::kSequenceParallel ||
          freed == Variable::kZero || freed == Variable::kExpertTp || freed == Variable::kShard ||
          freed == Variable::kOffloadActivations || freed == Variable::kOffloadOptimizer ||
          freed == Variable::kMicroBatch)) {
      EXPECT_LE(best(model, system, wider), before) << "seed " << seed << " " << name(freed);
    }
  }
  EXPECT_GT(solved, 0);
}

TEST(Optimize, SoftwareIsNeverAskedForWhatItCannotDo) {
  // Given choices are kept, whatever the software can; of what is open only what it runs is proposed.
  for (const Feature& each : features()) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      Draw draw(50'000 + seed);
      const Model model = random_model(draw);
      const System system = random_system(draw);
      Asked asked = random_space(draw, model, system, 16, 12);
      asked.space.base.stack.lacks = feature(each.name);
      asked.space.waived = given_features(asked.space);
      const bool waived = asked.space.waived & asked.space.base.stack.lacks;
      SearchOptions options;
      options.top = 50;
      for (const Candidate& found : searched(model, system, asked, options).best)
        EXPECT_TRUE(waived || !each.needed(model, found.plan)) << each.name << " seed " << seed;
    }
  }
}

TEST(Optimize, PlansThatDifferInNothingThatMattersAreListedOnce) {
  const Model model = gpt(96, 12288, 96);
  SearchOptions options;
  options.top = 200;
  const Optimum found = searched(model, a100(1600), gpt3_on(64), options);
  ASSERT_EQ(found.best.size(), 200U);
  for (std::size_t i = 1; i < found.best.size(); ++i) EXPECT_LT(found.best[i - 1].score[0], found.best[i].score[0]);
}

TEST(Conflict, IsTheSmallestSetThatExcludesEveryPlan) {
  const Model model = gpt(96, 12288, 96);
  const System system = a100(1600);
  const machine::Roofline operators(system.accelerator);
  const auto why = [&](const Asked& asked) {
    return conflict(model, system, asked.space, asked.objective, asked.limits, 4096, operators, base::Budget(), 1);
  };
  Asked asked = gpt3_on(16);
  asked.space.of(Variable::kZero) = {0};
  asked.space.of(Variable::kTp) = {8};
  // 175 B parameters at 18 bytes need 37 accelerators whatever is chosen.
  using Kind = Condition::Kind;
  EXPECT_EQ(why(asked).conditions, (std::vector<Condition>{{Kind::kMemory}, {Kind::kAccelerators}}));
  asked = gpt3_on(128);
  asked.space.of(Variable::kTp) = {7};
  asked.space.of(Variable::kRecompute) = {2};
  EXPECT_EQ(why(asked).conditions, (std::vector<Condition>{{Kind::kVariable, Variable::kTp}}));
  asked = gpt3_on(512);
  asked.space.of(Variable::kTp) = {1};
  asked.space.of(Variable::kZero) = {0};
  asked.space.of(Variable::kPp) = {4, 8};
  EXPECT_EQ(why(asked).conditions, (std::vector<Condition>{{Kind::kMemory},
                                                           {Kind::kVariable, Variable::kTp},
                                                           {Kind::kVariable, Variable::kPp},
                                                           {Kind::kVariable, Variable::kZero}}));
}

TEST(Objective, TheIntervalBetweenCheckpointsIsTheBest) {
  for (const double gpus : {1.0, 1000.0, 16384.0})
    for (const double checkpoint : {1.0, 60.0, 600.0}) {
      const Reliability reliability{50'000 * 3600.0, checkpoint, 300};
      const double mean = reliability.mtbf_s / gpus;
      const auto share = [&](double interval) {
        return interval / (mean * std::exp(300 / mean) * std::expm1((interval + checkpoint) / mean));
      };
      const double best = best_interval(reliability, gpus);
      EXPECT_NEAR(useful_share(reliability, gpus), share(best), 1e-9);
      EXPECT_GE(share(best), share(best * 1.02));
      EXPECT_GE(share(best), share(best / 1.02));
      // Young 1974: sqrt(2 C M) while both are short beside M.
      if (checkpoint < 1e-3 * mean) {
        EXPECT_NEAR(best / std::sqrt(2 * checkpoint * mean), 1, 0.03);
      }
    }
  EXPECT_EQ(useful_share({}, 1000), 1);
}

TEST(Objective, NoCheckpointComesBeforeTheIterationEnds) {
  // Free checkpoints, failures every second: an iteration of a minute hardly ever ends.
  Objective goodput;
  goodput.reliability = {.mtbf_s = 1, .checkpoint_s = 0, .restart_s = 0};
  EXPECT_NEAR(goodput.value(Metric::kGoodput, 60, 0, 1, 1, 1), std::expm1(60.0), 1e-9 * std::exp(60));
  EXPECT_EQ(goodput.value(Metric::kGoodput, 1e4, 0, 1, 1, 1), std::numeric_limits<double>::max());
  // Where the best interval is longer than the iteration nothing changes.
  goodput.reliability = {50'000 * 3600.0, 60, 300};
  EXPECT_EQ(goodput.value(Metric::kGoodput, 5, 0, 1, 16384, 16384), 5 / useful_share(goodput.reliability, 16384));
}

}  // namespace
}  // namespace orrery::cluster
