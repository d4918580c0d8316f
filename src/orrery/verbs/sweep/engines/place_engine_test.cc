// Systems that bound and settle each other, against each of them placed by itself.
#include "orrery/verbs/sweep/engines/place_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/dataflow/model/random_setup_test_util.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/verbs/sweep/run.h"

namespace orrery::sweep {
namespace {

using base::Folder;
using dataflow::random_setup::Dice;
using store::Figure;
using store::Store;

const store::Version kPlaceBuild{"0.1.0", "a build"};

Request read_setup(const std::string&, const std::vector<std::string>& arguments) {
  verbs::PlaceRequest request;
  request.path = arguments.front();
  return request;
}

std::vector<std::string> texts(Dice& dice, const std::vector<double>& values) {
  std::vector<std::string> out;
  for (const double value : values)
    if (!dice.once_in(4) || out.empty()) out.push_back(fmt::format("{}", value));
  return out;
}

// A random setup, written to `file`, and a study of its systems; nothing where no file can say it.
std::optional<Study> draw(Dice& dice, const std::string& file) {
  dataflow::Setup setup = dataflow::random_setup::draw(dice, 5);
  setup.prices.dram_price = dice.roll(0, 2);
  setup.prices.accelerator_price = dice.roll(0, 3);
  setup.prices.accelerator_power = 2;
  setup.prices.dram_power = dice.roll(0, 1);
  try {
    std::ofstream(file) << formats::dfmodel::write_setup(setup);
  } catch (const base::InputError&) {
    return {};
  }
  Study study;
  study.verb = "place";
  study.arguments = {file};
  const auto vary = [&](const std::string& path, const std::vector<double>& values) {
    if (!dice.once_in(3)) study.groups.push_back({{Axis{path, texts(dice, values), {}}}});
  };
  vary("system.memory.dram_bw", {0.3, 1, 2.5, 4, 9, 30});
  vary("system.accelerator.sram_cap", {60, 300, 700, 2000});
  vary("system.accelerator.core", {1, 2, 3, 5, 8});
  vary("system.accelerator.freq", {0.25, 0.5, 1, 4});
  vary("system.memory.dram_cap", {300, 900, 5000});
  if (dice.once_in(3)) vary("system.accelerator.systolic_width", {1, 2, 3});
  if (study.groups.empty()) study.groups.push_back({{Axis{"system.memory.dram_bw", {"1", "2"}, {}}}});
  return study;
}

// Of each system what `place` says.
TEST(PlaceEngine, ASystemThatOthersSettleHasTheAnswerOfItsOwnSearch) {
  Dice dice(20261124);
  int settled = 0, found = 0;
  for (int round = 0; round < 60; ++round) {
    const Folder folder;
    const std::optional<Study> study = draw(dice, folder / "setup.txt");
    if (!study) continue;
    EngineOptions options;
    for (const Axis* axis : study->axes()) options.paths.push_back(axis->path), options.values.push_back(axis->values);
    PlaceEngine together(study->arguments, read_setup, options);
    RequestEngine alone("place", study->arguments, read_setup, options);
    std::vector<base::Overrides> points;
    for (Point point = 0; point < study->points() && points.size() < 400; ++point) points.push_back(study->at(point));
    const Known nothing = [](const std::string&) { return std::nullopt; };
    const Batch one = together.evaluate(points, nothing), other = alone.evaluate(points, nothing);
    settled += together.settled();
    for (std::size_t i = 0; i < points.size(); ++i) {
      const store::Outcome &a = one.points[i].outcome, &b = other.points[i].outcome;
      ASSERT_EQ(store::name(a.status), store::name(b.status)) << a.reason << " / " << b.reason;
      for (int f = 0; f < store::kFigures; ++f)
        ASSERT_TRUE(a.figures.values[f] == b.figures.values[f] ||
                    (std::isnan(a.figures.values[f]) && std::isnan(b.figures.values[f])))
            << store::column(static_cast<Figure>(f)) << ' ' << a.figures.values[f] << ' ' << b.figures.values[f];
      found += a.found();
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(settled, 300) << "some must be settled without a search, or nothing was tested";
}

TEST(PlaceEngine, ExcludingSystemsByTheirBoundsChangesNoAnswer) {
  Dice dice(7);
  const std::vector<std::vector<std::string>> asked = {
      {"seconds"}, {"seconds", "dollars"}, {"energy"}, {"utilization"}, {"power", "seconds"}};
  std::size_t excluded = 0;
  for (int round = 0; round < 40; ++round) {
    const Folder folder;
    std::optional<Study> study = draw(dice, folder / "setup.txt");
    if (!study || study->points() > 600) continue;
    for (const std::string& name : asked[static_cast<std::size_t>(round) % asked.size()])
      study->objectives.push_back(objective_of(name, {}));
    Store a(folder / "a.db", Store::Mode::kWrite, kPlaceBuild), b(folder / "b.db", Store::Mode::kWrite, kPlaceBuild);
    RunOptions every;
    every.all = true;
    std::optional<SweepAnswer> fast, slow;
    try {
      slow = run(*study, read_setup, b, every);
    } catch (const base::InputError&) {  // every system is refused
      EXPECT_THROW(run(*study, read_setup, a, {}), base::InputError);
      continue;
    }
    fast = run(*study, read_setup, a, {});
    excluded += slow->evaluated - fast->evaluated;
    ASSERT_EQ(fast->ranking.best, slow->ranking.best) << study->identity();
    ASSERT_EQ(fast->ranking.pareto, slow->ranking.pareto) << study->identity();
    for (std::size_t at = 0; at < fast->points.size(); ++at)
      if (fast->points.status(at) == store::Status::kPruned && slow->points.found(at)) {
        const double least = fast->points.lower_bound(at), real = slow->points.figures(at)[study->objectives[0].figure];
        if (!std::isnan(least) && !study->objectives[0].most) {
          ASSERT_LE(least, real);
        }
      }
  }
  EXPECT_GT(excluded, 0);
}

TEST(PlaceEngine, ThreadsChangeNothing) {
  const std::string setup = (base::kCheckout / "examples/dataflow/gpt3_1t.txt").string();
  Study study;
  study.verb = "place";
  study.arguments = {setup};
  study.groups.push_back({{Axis{"system.memory.dram_bw", {"20", "50", "100", "200", "400"}, {}}}});
  study.groups.push_back({{Axis{"system.accelerator.core", {"100", "300", "640", "641", "1280"}, {}}}});
  study.objectives.push_back(objective_of("seconds", {}));
  const Folder folder;
  std::vector<store::Figures> first;
  for (const int threads : {1, 3}) {
    Store store(folder / fmt::format("{}.db", threads), Store::Mode::kWrite, kPlaceBuild);
    RunOptions every;
    every.all = true;
    every.engine.threads = threads;
    const SweepAnswer answer = run(study, read_setup, store, every);
    for (std::size_t at = 0; at < answer.points.size(); ++at) {
      if (threads == 1)
        first.push_back(answer.points.figures(at));
      else
        EXPECT_EQ(first[at][Figure::kSeconds], answer.points.figures(at)[Figure::kSeconds]);
    }
  }
}

}  // namespace
}  // namespace orrery::sweep
