// A search is worth as much as the order in which the model puts plans: of runs that were measured side by side, the
// same model on the same accelerators with the same batch, does it say which one is faster?
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/validate/run.h"

namespace orrery::verbs {
namespace {

// Small is fast.
double slowness(Measure measure, double value) {
  return measure == Measure::kIterationSeconds || measure == Measure::kGpuHoursPerTrillionTokens ? value : 1 / value;
}

struct Pairs {
  int all = 0, right = 0;
  double share() const { return static_cast<double>(right) / all; }
};

// Of pairs of held-out runs that differ by at least `least` of the faster one's time.
std::map<std::string, Pairs> ordered_pairs(double least) {
  std::map<std::string, Pairs> counted;
  for (const ValidatedSet& set : validate_training(ORRERY_SOURCE_DIR "/catalog")) {
    using Alike = std::tuple<std::string, std::string, std::string, double, base::Count, base::Count, base::Count, int>;
    std::map<Alike, std::vector<const ValidatedPoint*>> groups;
    for (const ValidatedPoint& point : set.points) {
      const MeasuredRun& run = point.run;
      if (run.use != Use::kHeldOut) continue;
      groups[{run.model_name, run.system_name, run.system_changes, run.model.parameters + run.model.hidden,
              run.model.seq, run.plan.gpus, run.plan.global_batch, static_cast<int>(run.plan.precision)}]
          .push_back(&point);
    }
    for (const auto& [alike, points] : groups)
      for (std::size_t i = 0; i < points.size(); ++i)
        for (std::size_t j = i + 1; j < points.size(); ++j) {
          const ValidatedPoint &a = *points[i], &b = *points[j];
          if (a.run.measure != b.run.measure) continue;
          const double measured = std::log(slowness(a.run.measure, a.run.value) / slowness(b.run.measure, b.run.value));
          const double predicted =
              std::log(slowness(a.run.measure, a.predicted) / slowness(b.run.measure, b.predicted));
          if (std::fabs(measured) < std::log1p(least)) continue;
          for (Pairs* pairs : {&counted[set.name], &counted["all"]}) {
            ++pairs->all;
            pairs->right += measured * predicted > 0 ? 1 : 0;
          }
        }
  }
  return counted;
}

TEST(PlanOrder, OfPublishedAlternativesTheFasterOneIsPredictedInNineOfTen) {
  const std::map<std::string, Pairs> counted = ordered_pairs(0.05);
  for (const auto& [set, pairs] : counted)
    std::printf("%-24s %4d of %4d pairs, %.1f %%\n", set.c_str(), pairs.right, pairs.all, 100 * pairs.share());
  EXPECT_GT(counted.at("all").all, 100);
  EXPECT_GE(counted.at("all").share(), 0.9);
}

}  // namespace
}  // namespace orrery::verbs
