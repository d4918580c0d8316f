#include "orrery/engines/amped/equations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/engines/amped/test_util.h"

namespace orrery::amped {
namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

TEST(Quantities, NamesAndFieldsAreDistinct) {
  std::set<std::string_view> names;
  Quantities q;
  for (const Quantity& quantity : quantity_table()) {
    EXPECT_TRUE(names.insert(quantity.name).second) << quantity.name;
    EXPECT_TRUE(std::isnan(q.*quantity.field)) << quantity.name << " shares its field";
    q.*quantity.field = 1;
  }
}

// All that is not stated as read is left unknown: a formula that reads more yields no number.
TEST(Quantities, FormulasReadWhatTheTableSaysAndAllOfItCounts) {
  for (const Defects& defects : {Defects{}, base::defects_of(kDefects, "amped")})
    for (const Quantity& quantity : quantity_table()) {
      if (quantity.formula == nullptr) continue;
      Quantities q;
      for (const int read : reads(quantity)) q.*quantity_table()[read].field = 4;
      EXPECT_TRUE(std::isfinite(quantity.formula(q, defects))) << quantity.name;
    }
  for (const Quantity& quantity : quantity_table())
    for (const int read : reads(quantity)) {
      bool counts = false;
      for (const Defects& defects : {Defects{}, base::defects_of(kDefects, "amped")})
        for (const double other : {1.0, 2.0, 7.0}) {
          Quantities q;
          for (const int one : reads(quantity)) q.*quantity_table()[one].field = 4;
          const double before = quantity.formula(q, defects);
          q.*quantity_table()[read].field = other;
          counts |= quantity.formula(q, defects) != before;
        }
      // min(1, degree / 100) and the rest all move for small values.
      EXPECT_TRUE(counts) << quantity.name << " does not depend on " << quantity_table()[read].name;
    }
}

TEST(Times, TheTimeModelReadsWhatItsListSays) {
  for (const Model& model : {Model{}, Model::original()}) {
    Quantities q;
    for (const std::string_view name : time_reads()) q.*find_quantity(name)->field = 4;
    EXPECT_TRUE(std::isfinite(times_of(q, model).total_s));
  }
}

TEST(Times, OneAcceleratorCommunicatesNothingAndDoesNotWait) {
  Quantities q = run_of_seven_billion();
  q.tp_intra = q.pp_intra = q.dp_inter = q.tp_inter = q.pp_inter = 1;
  for (const Model& model : {Model{}, Model::original()}) {
    const Times t = times(q, model);
    EXPECT_EQ(t.forward.total + t.backward.total + t.dp_s + t.bubble_s, 0);
    EXPECT_TRUE(near(t.layer_s, t.forward_s + t.backward_s + t.weight_gradient_s));
  }
}

// Theory of pipelines: p stages and m microbatches leave (p - 1) / m of the working time idle.
TEST(Times, TheMendedBubbleIsTheClosedForm) {
  Quantities q = run_of_seven_billion();
  calculate(q, nothing(), {});
  for (const double microbatches : {1.0, 8.0, 64.0}) {
    q.microbatches = microbatches;
    const Times t = times_of(q, {});
    EXPECT_TRUE(near(t.bubble_s, (q.pp - 1) / microbatches * (t.layer_s - t.bubble_s - t.dp_s)));
  }
}

TEST(Times, MendedTrafficIsThatOfOneRank) {
  Quantities q = run_of_seven_billion();
  q.accelerator_latency = q.node_latency = 0;
  const Times t = times(q, {});
  const double bits = 512.0 / 8 * 2048 * 4096 * 16;  // (B / dp) S D, 16 bits
  EXPECT_TRUE(near(t.forward.tp_intra * 36, 36.0 / 8 * 2 * bits * 1.5 / 2.4e12)) << "36 / 8 layers, two reductions";
  EXPECT_TRUE(near(t.forward.tp_inter * 36, 36.0 / 8 * 2 * bits * 1 / (8 * 2e11 / 2)));
  EXPECT_TRUE(near(t.forward.pp * 36, bits / (8 * 2e11 / 2))) << "passed on once";
}

TEST(Times, EachDefectChangesSomethingAndAllOfThemAreTheOriginal) {
  Quantities q = run_of_seven_billion();
  q.experts = 8;
  Model model;
  std::set<double> seen = {times(q, model).total_s};
  for (const std::string& name : base::defect_names(kDefects)) {
    Model one;
    *base::defect_named(kDefects, one.defects, name) = true;
    *base::defect_named(kDefects, model.defects, name) = true;
    if (name == "activations_over_all_ranks" || name == "flat_gemms") continue;  // not in the time
    if (name == "gathers_alone") continue;                                       // nor where there are replicas
    EXPECT_TRUE(seen.insert(times(q, one).total_s).second) << name;
  }
  EXPECT_EQ(times(q, model).total_s, times(q, Model::original()).total_s);
}

TEST(Times, WithoutReplicasNothingIsGathered) {
  Quantities q = run_of_seven_billion();
  EXPECT_GT(times(q, {}).forward.gather, 0);
  q.dp_intra = q.dp_inter = 1;
  EXPECT_EQ(times(q, {}).forward.gather, 0);
  Model alone;
  alone.defects.gathers_alone = true;
  EXPECT_TRUE(near(times(q, alone).forward.gather, times(q, {}).forward.total / 4));
}

TEST(Times, EachConstantChangesSomething) {
  const Quantities q = run_of_seven_billion();
  for (const Constant& constant : kConstants) {
    const std::string name = constant.name;
    Model model;
    if (name == "efficiency_cap") model.constants.efficiency_exponent = 3;
    const double before = times(q, model).total_s;
    model.constants.*constant.field = name == "unit_bits" ? 8 : 0.6;
    EXPECT_NE(times(q, model).total_s, before) << name;
  }
}

TEST(Times, MoreOfAnythingNeverHurts) {
  const auto faster = {&Quantities::frequency,       &Quantities::cores,
                       &Quantities::units,           &Quantities::unit_macs,
                       &Quantities::nonlinear_units, &Quantities::unit_nonlinears,
                       &Quantities::card_bandwidth,  &Quantities::accelerator_bandwidth};
  for (const Model& model : {Model{}, Model::original()})
    for (double Quantities::*field : faster) {
      Quantities q = run_of_seven_billion();
      const double before = times(q, model).total_s;
      q.*field *= 2;
      EXPECT_LT(times(q, model).total_s, before);
    }
}

}  // namespace
}  // namespace orrery::amped
