#include "orrery/verbs/sparse/sweep/run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/numpy/array.h"

namespace orrery::verbs {
namespace {

SweepPoint sweep_point(double error, double density, double utilization, bool fits = true) {
  SweepPoint out;
  out.error = error;
  out.density = density;
  out.packed.utilization = utilization;
  out.packed.fits = fits;
  return out;
}

TEST(SparseSweep, TheFrontierHasWhatNothingThatFitsDominates) {
  std::vector<SweepPoint> points = {sweep_point(0.1, 0.2, 0.5),         // worse than the next in error
                                    sweep_point(0.05, 0.2, 0.5),        //
                                    sweep_point(0.2, 0.1, 0.4),         // sparser than all
                                    sweep_point(0.2, 0.3, 0.9),         // fills best of those that fit
                                    sweep_point(0.2, 0.3, 0.8),         // worse than the last
                                    sweep_point(0.01, 0.01, 1, false),  // better in all, but fits no array
                                    sweep_point(0.05, 0.2, 0.5)};       // as good as the second
  mark_pareto(points, sweep_costs);
  std::vector<bool> marked;
  for (const SweepPoint& p : points) marked.push_back(p.pareto);
  EXPECT_EQ(marked, (std::vector<bool>{false, true, true, true, false, false, true}));
}

// Queries and keys of two heads, as files.
class Attention {
 public:
  Attention() {
    for (const char* name : {"q.npy", "k.npy", "v.npy"}) {
      std::vector<float> values;
      for (int i = 0; i < 2 * 24 * 8; ++i) values.push_back(static_cast<float>((i * 37 + name[0] * 11) % 101) / 50 - 1);
      folder_.write(name, formats::numpy::file_of({1, 2, 24, 8}, values));
    }
  }
  SparseSweepRequest request() const {
    SparseSweepRequest out;
    out.files.query = folder_ / "q.npy";
    out.files.key = folder_ / "k.npy";
    out.files.value = folder_ / "v.npy";
    out.predictors = {masks::PredictorKind::kThreshold, masks::PredictorKind::kTopK};
    out.thresholds = {0.01, 0.05};
    out.keeps = {0.25};
    out.bits = {2, 8};
    out.packings = {"pack", "orrery"};
    out.arrays = {{8, 4, 8}, {8, 4, 16}};
    out.limits.threads = 1;
    return out;
  }

 private:
  base::Folder folder_;
};

TEST(SparseSweep, TriesEveryCombinationOnce) {
  const Attention attention;
  const SparseSweep sweep = sweep_sparse(attention.request());
  EXPECT_EQ(sweep.all, (2U * 2 + 2) * 2 * 2);
  EXPECT_EQ(sweep.points.size(), sweep.all);
  EXPECT_FALSE(sweep.interrupted || sweep.out_of_time);
  EXPECT_TRUE(std::any_of(sweep.points.begin(), sweep.points.end(), [](const SweepPoint& p) { return p.pareto; }));
  for (const SweepPoint& p : sweep.points) {
    EXPECT_TRUE(p.error.has_value());
    EXPECT_EQ(p.threshold.has_value(), p.predictor == "threshold");
    EXPECT_EQ(p.keep.has_value(), p.predictor == "top-k");
  }
  const std::string csv = sweep_csv(sweep);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), sweep.all + 1);
}

TEST(SparseSweep, AHigherThresholdIsNeverDenser) {
  const Attention attention;
  const SparseSweep sweep = sweep_sparse(attention.request());
  for (const SweepPoint& a : sweep.points)
    for (const SweepPoint& b : sweep.points) {
      const bool higher = a.threshold && b.threshold && a.bits == b.bits && *a.threshold < *b.threshold;
      if (higher) {
        EXPECT_GE(a.density, b.density);
      }
    }
}

TEST(SparseSweep, AnInterruptKeepsWhatIsDone) {
  const Attention attention;
  SparseSweepRequest request = attention.request();
  std::atomic<bool> stop = false;
  request.limits.stop = &stop;
  request.progress = [&](std::size_t done, std::size_t) { stop = done == 3; };
  const SparseSweep sweep = sweep_sparse(request);
  EXPECT_TRUE(sweep.interrupted);
  EXPECT_EQ(sweep.points.size(), 3U);
}

}  // namespace
}  // namespace orrery::verbs
