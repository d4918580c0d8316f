#include "orrery/verbs/sparse/design/run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/verbs/sparse/array_attention_test_util.h"

namespace orrery::verbs {
namespace {

DesignPoint design_point(double seconds, double energy, double area, double error) {
  DesignPoint out;
  out.seconds = seconds, out.energy_pj = energy, out.area_um2 = area, out.error = error;
  return out;
}

TEST(SparseDesign, TheFrontierHasWhatNothingDominatesAndTheBestIsByTheObjective) {
  std::vector<DesignPoint> points = {design_point(4, 1, 1, 0.1),   // least energy and area
                                     design_point(1, 5, 3, 0.1),   // fastest
                                     design_point(2, 5, 3, 0.1),   // slower than the second
                                     design_point(2, 3, 3, 0.01),  // most exact
                                     design_point(1, 5, 3, 0.1)};  // as good as the second
  mark_pareto(points, design_costs);
  mark_best(points, DesignObjective::kTime, {});
  std::vector<bool> pareto, best;
  for (const DesignPoint& p : points) pareto.push_back(p.pareto), best.push_back(p.best);
  EXPECT_EQ(pareto, (std::vector<bool>{true, true, false, true, true}));
  EXPECT_EQ(best, (std::vector<bool>{false, true, false, false, false}));
  mark_best(points, DesignObjective::kEnergyDelay, 0.05);
  EXPECT_TRUE(points[3].best);  // the only one that is exact enough
  mark_best(points, DesignObjective::kEnergy, 0.001);
  EXPECT_TRUE(std::none_of(points.begin(), points.end(), [](const auto& p) { return p.best; }));
}

DesignRequest design(const RandomAttention& attention) {
  const SimulateRequest one = attention.arrays();
  DesignRequest out;
  out.input = one.input;
  out.choices = {{{8, 4, 16}, {16, 2, 16}}, {2, 8}, {"pack", "orrery"}, {1e9}, {1e9, 128e9}, {16}};
  return out;
}

TEST(SparseDesign, EveryPointIsWhatSimulateSaysOfIt) {
  const RandomAttention attention;
  const SparseDesign answer = design_sparse(design(attention));
  EXPECT_EQ(answer.all, 2U * 2 * 2 * 2);
  ASSERT_EQ(answer.points.size(), answer.all);
  for (const std::size_t i : {std::size_t{0}, answer.points.size() - 1}) {
    const DesignPoint& p = answer.points[i];
    SimulateRequest one = attention.arrays();
    one.input.bits = p.bits;
    one.choice.instance.array = p.array;
    one.choice.instance.bandwidth = p.bandwidth;
    one.choice.packing = p.packing;
    const SparseSimulate same = simulate_sparse(one);
    EXPECT_EQ(p.cycles, same.sum.cycles);
    EXPECT_DOUBLE_EQ(p.energy_pj, same.price.energy_pj);
    EXPECT_DOUBLE_EQ(p.area_um2, same.price.area_um2);
    EXPECT_EQ(p.error, same.relative_error);
  }
  EXPECT_EQ(std::count_if(answer.points.begin(), answer.points.end(), [](const auto& p) { return p.best; }), 1);
}

TEST(SparseDesign, ARunThatWasStoppedGoesOnToTheSameTable) {
  const RandomAttention attention;
  DesignRequest request = design(attention);
  const SparseDesign whole = design_sparse(request);
  std::atomic<bool> stop = false;
  request.limits.stop = &stop;
  request.progress = [&](std::size_t done, std::size_t) { stop = done == 5; };
  const SparseDesign part = design_sparse(request);
  EXPECT_TRUE(part.interrupted);
  EXPECT_EQ(part.points.size(), 5U);
  stop = false;
  request.progress = {};
  request.resume = attention.folder.write("design.csv", design_csv(part));
  const SparseDesign rest = design_sparse(request);
  EXPECT_EQ(rest.resumed, 5U);
  EXPECT_EQ(design_csv(rest), design_csv(whole));
  // Another question, and a damaged line, are refused.
  request.choice.one_after_another = true;
  EXPECT_EQ(base::codes_of([&] { design_sparse(request); }), base::Codes{"O1904"});
  request.choice.one_after_another = false;
  request.resume =
      attention.folder.write("damaged.csv", base::replaced(design_csv(part), "\n8x4x16,2", "\n8x4x16,x,2"));
  EXPECT_EQ(base::codes_of([&] { design_sparse(request); }), base::Codes{"O1904"});
}

TEST(SparseDesign, FaultsOfAllPointsAreToldBeforeTheFirstIsComputed) {
  const RandomAttention attention;
  DesignRequest request = design(attention);
  request.choice.score_keys = 8;  // too few of both packings that need it
  bool computed = false;
  request.progress = [&](std::size_t, std::size_t) { computed = true; };
  EXPECT_EQ(base::codes_of([&] { design_sparse(request); }), base::Codes{"O1893"});
  EXPECT_FALSE(computed);
}

}  // namespace
}  // namespace orrery::verbs
