// Runs of studies: with an engine of random figures and bounds that hold, and with the mapper.
#include "orrery/verbs/sweep/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/sweep/engines/map_engine.h"
#include "orrery/verbs/sweep/engines/point_reading.h"
#include "orrery/verbs/sweep/engines/question_key.h"
#include "orrery/verbs/sweep/points/memo.h"

namespace orrery::sweep {
namespace {

using base::Folder;
using store::Figure;
using store::Store;

const store::Version kBuild{"0.1.0", "a build"};

// Figures by point, drawn once; bounds are a random share of them.
class RandomEngine : public Engine {
 public:
  RandomEngine(std::uint32_t seed, Point points) {
    std::mt19937 dice(seed);
    for (Point p = 0; p < points; ++p) {
      store::Outcome outcome;
      outcome.status = dice() % 10 == 0 ? store::Status::kInfeasible : store::Status::kOptimal;
      store::Figures bound;
      for (const Figure figure : {Figure::kEnergy, Figure::kCycles, Figure::kArea}) {
        const double value = 1 + static_cast<double>(dice() % 12);
        if (outcome.status == store::Status::kOptimal) outcome.figures[figure] = value;
        bound[figure] = dice() % 3 == 0 ? value : value * static_cast<double>(dice() % 100) / 100;
      }
      outcomes_.push_back(outcome);
      bounds_.push_back(bound);
    }
  }
  void probe(const base::Overrides&) override {}
  std::vector<base::Input> inputs() const override { return {}; }
  base::Diagnostics warnings() const override { return {}; }
  // Of a box the least of its points' bounds; of every fourth box nothing.
  std::vector<store::Figures> bounds(const std::vector<Choices>& boxes) override {
    std::vector<store::Figures> out(boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      std::vector<std::size_t> points = {0};
      for (const std::vector<base::Overrides>& group : boxes[i]) {
        std::vector<std::size_t> more;
        for (const std::size_t before : points)
          for (const base::Overrides& set : group) more.push_back(before * 7 + at(set));
        points = std::move(more);
      }
      if (points.size() > 1 && points.front() % 4 == 3) continue;
      out[i] = bounds_[points.front()];
      for (const std::size_t point : points)
        for (std::size_t f = 0; f < out[i].values.size(); ++f)
          out[i].values[f] = std::min(out[i].values[f], bounds_[point].values[f]);
    }
    return out;
  }
  Batch evaluate(const std::vector<base::Overrides>& points, const Known& known) override {
    Batch batch;
    for (const base::Overrides& point : points) {
      const std::string key = key_of_text(std::to_string(at(point)));
      batch.points.push_back({outcomes_[at(point)], {{"part", 1, key}}});
      if (!known(key)) batch.fresh.push_back({key, "part", outcomes_[at(point)], {}});
      ++evaluated;
      if (stop_at > 0 && evaluated >= stop_at) *stop = true;
    }
    return batch;
  }
  std::string command(const base::Overrides&) const override { return ""; }

  std::size_t evaluated = 0, stop_at = 0;
  std::atomic<bool>* stop = nullptr;

 private:
  static std::size_t at(const base::Overrides& point) {
    std::size_t out = 0;
    for (const base::Override& set : point) out = out * 7 + static_cast<std::size_t>(std::stoi(set.value));
    return out;
  }
  std::vector<store::Outcome> outcomes_;
  std::vector<store::Figures> bounds_;
};

Study study_of(std::size_t axes, const std::vector<std::string>& objectives) {
  Study study;
  for (std::size_t a = 0; a < axes; ++a)
    study.groups.push_back({{Axis{"f." + std::to_string(a), {"0", "1", "2", "3", "4", "5", "6"}, {}}}});
  for (const std::string& name : objectives) study.objectives.push_back(objective_of(name, {}));
  return study;
}

void expect_same_answer(const SweepAnswer& a, const SweepAnswer& b, const std::string& what) {
  ASSERT_EQ(a.ranking.best, b.ranking.best) << what;
  ASSERT_EQ(a.ranking.pareto, b.ranking.pareto) << what;
  for (const std::size_t at : b.ranking.pareto)
    for (int f = 0; f < store::kFigures; ++f) {
      const double x = a.points.figures(at).values[f], y = b.points.figures(at).values[f];
      ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << what;
    }
}

TEST(Run, ExcludingPointsByTheirBoundsChangesNoAnswer) {
  const std::vector<std::vector<std::string>> asked = {
      {"energy"}, {"cycles"}, {"energy", "cycles"}, {"energy", "cycles", "area"}};
  std::size_t excluded = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Folder folder;
    Study study = study_of(3, asked[seed % asked.size()]);
    if (seed % 5 == 0) study.budgets.push_back({Figure::kArea, 6, {}});
    RandomEngine pruned(seed, study.points()), whole(seed, study.points());
    Store a(folder / "a.db", Store::Mode::kWrite, kBuild), b(folder / "b.db", Store::Mode::kWrite, kBuild);
    RunOptions every;
    every.all = true;
    const SweepAnswer fast = run_on(study, pruned, a, {}), slow = run_on(study, whole, b, every);
    ASSERT_EQ(slow.evaluated, study.points());
    excluded += slow.evaluated - fast.evaluated;
    expect_same_answer(fast, slow, "seed " + std::to_string(seed));
    for (std::size_t at = 0; at < fast.points.size(); ++at)
      if (fast.points.status(at) == store::Status::kPruned && slow.points.found(at) && study.budgets.empty()) {
        ASSERT_LE(fast.points.lower_bound(at), slow.points.figures(at)[study.objectives[0].figure]);
      }
  }
  EXPECT_GT(excluded, 60 * 20) << "bounds must exclude something, or nothing was tested";
}

TEST(Run, WhatAnInterruptLeavesIsFinishedToTheSameAnswer) {
  for (std::uint32_t seed = 0; seed < 15; ++seed) {
    const Folder folder;
    const Study study = study_of(3, {"energy", "cycles"});
    RandomEngine whole(seed, study.points());
    Store a(folder / "a.db", Store::Mode::kWrite, kBuild);
    const SweepAnswer expected = run_on(study, whole, a, {});
    std::size_t before = 0;
    SweepAnswer last;
    for (std::size_t again = 0; again < 50; ++again) {
      RandomEngine engine(seed, study.points());
      std::atomic<bool> stop = false;
      engine.stop = &stop;
      engine.stop_at = 1 + (seed * 7 + again * 13) % 60;
      RunOptions options;
      options.engine.stop = &stop;
      Store b(folder / "b.db", Store::Mode::kWrite, kBuild);
      last = run_on(study, engine, b, options);
      ASSERT_GE(last.stored_before, before) << "nothing stored is lost";
      before = last.stored_before;
      if (last.finished) break;
    }
    ASSERT_TRUE(last.finished);
    expect_same_answer(last, expected, "seed " + std::to_string(seed));
  }
}

TEST(Run, ASecondRunEvaluatesNothing) {
  const Folder folder;
  const Study study = study_of(3, {"energy"});
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  RandomEngine first(1, study.points()), second(1, study.points());
  const SweepAnswer before = run_on(study, first, store, {}), after = run_on(study, second, store, {});
  EXPECT_EQ(second.evaluated, 0);
  EXPECT_EQ(after.stored_before, study.points());
  expect_same_answer(after, before, "again");
}

TEST(Run, AnotherObjectiveLooksAgainAtWhatWasExcluded) {
  const Folder folder;
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild), fresh(folder / "b.db", Store::Mode::kWrite, kBuild);
  RandomEngine engine(3, study_of(3, {"energy"}).points());
  run_on(study_of(3, {"energy"}), engine, store, {});
  const SweepAnswer after = run_on(study_of(3, {"cycles", "area"}), engine, store, {});
  expect_same_answer(after, run_on(study_of(3, {"cycles", "area"}), engine, fresh, {}), "cycles and area");
}

// Points that cost as the values say: each number of the first field, times two for each of the second.
class CostlyEngine : public RandomEngine {
 public:
  CostlyEngine() : RandomEngine(1, 7 * 7 * 7) {}
  double effort(const base::Overrides& point) override {
    return std::pow(7, std::stod(point[0].value)) * std::pow(2, std::stod(point[1].value));
  }
};

TEST(Run, PartsHaveEveryPointOnceAndCostAlike) {
  const Study study = study_of(3, {"energy"});
  CostlyEngine engine;
  const Efforts efforts(study, engine);
  for (const std::uint64_t parts : {1u, 2u, 3u, 7u, 48u}) {
    std::vector<double> cost(parts);
    std::vector<Dealer> dealers;
    for (std::uint64_t part = 1; part <= parts; ++part) dealers.emplace_back(efforts, Shard{part, parts});
    double all = 0;
    for (Point point = 0; point < study.points(); ++point) {
      const double of_point = engine.effort(study.at(point));
      ASSERT_NEAR(std::exp2(efforts.of(point)), of_point, 1e-9 * of_point);
      all += of_point;
      int taken = 0;
      for (std::uint64_t part = 0; part < parts; ++part)
        if (dealers[part].takes(point)) ++taken, cost[part] += of_point;
      ASSERT_EQ(taken, 1);
    }
    // The dearest point is 7^6 * 2^6; a part has one of a class more than another at most.
    const double dearest = std::pow(7, 6) * std::pow(2, 6);
    for (const double each : cost) EXPECT_NEAR(each, all / static_cast<double>(parts), 2 * dearest);
  }
}

TEST(Run, APointThatIsAskedTwiceHasAllItsFiguresTwice) {
  const Folder folder;
  Study study = study_of(1, {"area"});
  study.groups[0].axes[0].values = {"1", "1", "2"};
  class Once : public RandomEngine {
   public:
    Once() : RandomEngine(5, 7) {}
    Batch evaluate(const std::vector<base::Overrides>& points, const Known& known) override {
      Batch batch;
      for (const base::Overrides& point : points) {
        const std::string key = key_of_text(point[0].value);
        store::Outcome outcome;
        outcome.status = store::Status::kOptimal;
        outcome.figures[Figure::kArea] = 3, outcome.figures[Figure::kDollars] = 4;
        if (const auto before = known(key)) outcome = before->outcome;
        batch.points.push_back({outcome, {{"part", 1, key}}});
        batch.fresh.push_back({key, "part", outcome, {}});
      }
      return batch;
    }
  };
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  RunOptions all;
  all.all = true;
  Once engine;
  run_on(study, engine, store, all);
  study.groups[0].axes[0].values = {"1", "2", "1"};
  const SweepAnswer again = run_on(study, engine, store, all);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(again.points.figures(at)[Figure::kArea], 3);
    EXPECT_EQ(again.points.figures(at)[Figure::kDollars], 4);
  }
}

TEST(Memo, RecentOnesAreKnownAndOldOnesAreForgotten) {
  Recent<int> recent(10);
  const auto key = [](int i) { return key_of_text(std::to_string(i)); };
  for (int i = 0; i < 100; ++i) {
    recent.add(key(i), i);
    ASSERT_NE(recent.find(key(0)), nullptr) << "what is asked for stays";
  }
  EXPECT_EQ(*recent.find(key(99)), 99);
  EXPECT_EQ(recent.find(key(50)), nullptr);
  EXPECT_TRUE(recent.forgets());
}

// The mapper on the example's chip; what varies stands in no option.
Request read_example(const std::string&, const std::vector<std::string>&) {
  verbs::MapRequest request;
  const std::string root = (base::kCheckout / "examples/gemmini_raw").string();
  request.files = {root, root + "/layers"};
  request.estimators.tables = {root + "/tables"};
  return request;
}

Study example_study(std::mt19937& dice) {
  Study study;
  const auto vary = [&](const std::string& path, std::vector<std::string> values) {
    if (dice() % 4 != 0) study.groups.push_back({{Axis{path, std::move(values), {}}}});
  };
  vary("arch.Scratchpad.read_bandwidth", {"4", "16", "64"});
  vary("variables.ROWS", {"8", "16", "32"});
  vary("arch.Accumulator.depth", {"16", "512", "4096"});
  vary("variables.SCRATCHPAD_BYTES", {"16384", "262144", "1048576"});
  vary("arch.DRAM.read_bandwidth", {"1", "4", "16"});
  if (study.groups.empty()) study.groups.push_back({{Axis{"variables.COLUMNS", {"8", "16"}, {}}}});
  return study;
}

TEST(ChipReadings, WhatIsPutTogetherIsWhatIsRead) {
  std::mt19937 dice(20240229);
  int composed = 0;
  for (int round = 0; round < 12; ++round) {
    const Study study = example_study(dice);
    std::vector<std::string> paths;
    for (const Axis* axis : study.axes()) paths.push_back(axis->path);
    ChipReadings readings({}, read_example, paths);
    for (int i = 0; i < 12; ++i) {
      const base::Overrides point = study.at(dice() % study.points());
      ASSERT_EQ(readings.questions(point).keys, readings.read_whole(point).keys);
    }
    composed += readings.composes();
  }
  EXPECT_EQ(composed, 12);
}

TEST(MapEngine, ExcludingPointsByTheirBoundsChangesNoAnswer) {
  std::mt19937 dice(20240301);
  const std::vector<std::vector<std::string>> asked = {{"edp"}, {"energy"}, {"cycles"}, {"edp", "area"}};
  std::size_t excluded = 0;
  for (int round = 0; round < 8; ++round) {
    const Folder folder;
    Study study = example_study(dice);
    for (const std::string& name : asked[static_cast<std::size_t>(round) % asked.size()])
      study.objectives.push_back(objective_of(name, {}));
    Store a(folder / "a.db", Store::Mode::kWrite, kBuild), b(folder / "b.db", Store::Mode::kWrite, kBuild);
    RunOptions every;
    every.all = true;
    const SweepAnswer fast = run(study, read_example, a, {}), slow = run(study, read_example, b, every);
    excluded += slow.evaluated - fast.evaluated;
    expect_same_answer(fast, slow, study.identity());
    for (std::size_t at = 0; at < fast.points.size(); ++at)
      if (fast.points.status(at) == store::Status::kPruned && slow.points.found(at)) {
        ASSERT_LE(fast.points.lower_bound(at), slow.points.figures(at)[study.objectives[0].figure]);
      }
  }
  EXPECT_GT(excluded, 0) << "bounds must exclude something, or nothing was tested";
}

// A chip whose buffer looks at zeros, under a layer that has some.
const char* const kSparse = R"(
variables: {version: 0.4, technology: "45nm", global_cycle_seconds: 1e-9}
architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}
  - !Component
    name: Buffer
    class: SRAM
    attributes: {depth: 256, width: 32, datawidth: 8}
    sparse_optimizations:
      action_optimization: [{type: skipping, target: Inputs, condition_on: [Weights]}]
  - !Component {name: MAC, class: intmac, attributes: {datawidth: 8}}
problem:
  version: 0.4
  shape:
    name: product
    dimensions: [D, E, L]
    data_spaces:
    - {name: Weights, projection: [[[E]], [[D]]]}
    - {name: Inputs, projection: [[[E]], [[L]]]}
    - {name: Outputs, projection: [[[D]], [[L]]], read_write: true}
  instance: {D: 8, E: 4, L: 6, densities: {Weights: 0.5}}
)";

TEST(MapEngine, SparseLayersAreSweptAsTheyAreMapped) {
  const Folder folder;
  verbs::MapRequest request;
  request.files = {folder.write("sparse.yaml", kSparse)};
  const auto read = [&](const std::string&, const std::vector<std::string>&) { return Request(request); };
  Study study;
  study.groups.push_back({{Axis{"problem.instance.densities.Weights", {"0.25", "0.5", "1"}, {}}}});
  study.groups.push_back({{Axis{"arch.Buffer.depth", {"8", "64", "1024"}, {}}}});
  study.objectives.push_back(objective_of("energy", {}));
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  const SweepAnswer answer = run(study, read, store, {});
  ASSERT_EQ(answer.points.size(), 9u);
  std::set<double> different;
  for (std::size_t at = 0; at < answer.points.size(); ++at) {
    verbs::MapRequest one = request;
    one.overrides = study.at(answer.points.number(at));
    const verbs::MapAnswer alone = verbs::map(one);
    ASSERT_TRUE(alone.mapped.layers.at(0).sparse);
    ASSERT_TRUE(answer.points.found(at));
    EXPECT_EQ(answer.points.figures(at)[Figure::kEnergy], alone.mapped.layers[0].optimum.evaluation.energy_pj);
    EXPECT_EQ(answer.points.figures(at)[Figure::kCycles],
              static_cast<double>(alone.mapped.layers[0].optimum.evaluation.cycles));
    different.insert(answer.points.figures(at)[Figure::kEnergy]);
  }
  EXPECT_GT(different.size(), 6u);
  request.search.factors = nest::Factors::kPadded;
  Store other(folder / "b.db", Store::Mode::kWrite, kBuild);
  EXPECT_EQ(base::codes_of([&] { run(study, read, other, {}); }), base::Codes{"O2039"});
}

}  // namespace
}  // namespace orrery::sweep
