#include "orrery/cluster/amped_equations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/cluster/amped_test_util.h"

namespace orrery::cluster {
namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

TEST(AmpedQuantities, NamesAndFieldsAreDistinct) {
  std::set<std::string_view> names;
  AmpedQuantities q;
  for (const AmpedQuantity& quantity : amped_quantities()) {
    EXPECT_TRUE(names.insert(quantity.name).second) << quantity.name;
    EXPECT_TRUE(std::isnan(q.*quantity.field)) << quantity.name << " shares its field";
    q.*quantity.field = 1;
  }
}

// All that is not stated as read is left unknown: a formula that reads more yields no number.
TEST(AmpedQuantities, FormulasReadWhatTheTableSaysAndAllOfItCounts) {
  for (const AmpedDefects& defects : {AmpedDefects{}, AmpedDefects::all()})
    for (const AmpedQuantity& quantity : amped_quantities()) {
      if (quantity.formula == nullptr) continue;
      AmpedQuantities q;
      for (const int read : amped_reads(quantity)) q.*amped_quantities()[read].field = 4;
      EXPECT_TRUE(std::isfinite(quantity.formula(q, defects))) << quantity.name;
    }
  for (const AmpedQuantity& quantity : amped_quantities())
    for (const int read : amped_reads(quantity)) {
      bool counts = false;
      for (const AmpedDefects& defects : {AmpedDefects{}, AmpedDefects::all()})
        for (const double other : {1.0, 2.0, 7.0}) {
          AmpedQuantities q;
          for (const int one : amped_reads(quantity)) q.*amped_quantities()[one].field = 4;
          const double before = quantity.formula(q, defects);
          q.*amped_quantities()[read].field = other;
          counts |= quantity.formula(q, defects) != before;
        }
      // min(1, degree / 100) and the rest all move for small values.
      EXPECT_TRUE(counts) << quantity.name << " does not depend on " << amped_quantities()[read].name;
    }
}

TEST(AmpedTimes, TheTimeModelReadsWhatItsListSays) {
  for (const AmpedModel& model : {AmpedModel{}, AmpedModel::original()}) {
    AmpedQuantities q;
    for (const std::string_view name : amped_time_reads()) q.*find_amped_quantity(name)->field = 4;
    EXPECT_TRUE(std::isfinite(amped_times(q, model).total_s));
  }
}

TEST(AmpedTimes, OneAcceleratorCommunicatesNothingAndDoesNotWait) {
  AmpedQuantities q = run_of_seven_billion();
  q.tp_intra = q.pp_intra = q.dp_inter = q.tp_inter = q.pp_inter = 1;
  for (const AmpedModel& model : {AmpedModel{}, AmpedModel::original()}) {
    const AmpedTimes t = times(q, model);
    EXPECT_EQ(t.forward.total + t.backward.total + t.dp_s + t.bubble_s, 0);
    EXPECT_TRUE(near(t.layer_s, t.forward_s + t.backward_s + t.weight_gradient_s));
  }
}

// Theory of pipelines: p stages and m microbatches leave (p - 1) / m of the working time idle.
TEST(AmpedTimes, TheMendedBubbleIsTheClosedForm) {
  AmpedQuantities q = run_of_seven_billion();
  calculate(q, nothing(), {});
  for (const double microbatches : {1.0, 8.0, 64.0}) {
    q.microbatches = microbatches;
    const AmpedTimes t = amped_times(q, {});
    EXPECT_TRUE(near(t.bubble_s, (q.pp - 1) / microbatches * (t.layer_s - t.bubble_s - t.dp_s)));
  }
}

TEST(AmpedTimes, MendedTrafficIsThatOfOneRank) {
  AmpedQuantities q = run_of_seven_billion();
  q.accelerator_latency = q.node_latency = 0;
  const AmpedTimes t = times(q, {});
  const double bits = 512.0 / 8 * 2048 * 4096 * 16;  // (B / dp) S D, 16 bits
  EXPECT_TRUE(near(t.forward.tp_intra * 36, 36.0 / 8 * 2 * bits * 1.5 / 2.4e12)) << "36 / 8 layers, two reductions";
  EXPECT_TRUE(near(t.forward.tp_inter * 36, 36.0 / 8 * 2 * bits * 1 / (8 * 2e11 / 2)));
  EXPECT_TRUE(near(t.forward.pp * 36, bits / (8 * 2e11 / 2))) << "passed on once";
}

TEST(AmpedTimes, EachDefectChangesSomethingAndAllOfThemAreTheOriginal) {
  AmpedQuantities q = run_of_seven_billion();
  q.experts = 8;
  AmpedModel model;
  std::set<double> seen = {times(q, model).total_s};
  for (const std::string& name : amped_defect_names()) {
    AmpedModel one;
    *amped_defect(one.defects, name) = true;
    *amped_defect(model.defects, name) = true;
    if (name == "activations_over_all_ranks" || name == "flat_gemms") continue;  // not in the time
    EXPECT_TRUE(seen.insert(times(q, one).total_s).second) << name;
  }
  EXPECT_EQ(times(q, model).total_s, times(q, AmpedModel::original()).total_s);
}

TEST(AmpedTimes, EachConstantChangesSomething) {
  const AmpedQuantities q = run_of_seven_billion();
  for (const std::string& name : amped_constant_names()) {
    AmpedModel model;
    if (name == "efficiency_cap") model.constants.efficiency_exponent = 3;
    const double before = times(q, model).total_s;
    *amped_constant(model.constants, name) = name == "unit_bits" ? 8 : 0.6;
    EXPECT_NE(times(q, model).total_s, before) << name;
  }
}

TEST(AmpedTimes, MoreOfAnythingNeverHurts) {
  const auto faster = {&AmpedQuantities::frequency,       &AmpedQuantities::cores,
                       &AmpedQuantities::units,           &AmpedQuantities::unit_macs,
                       &AmpedQuantities::nonlinear_units, &AmpedQuantities::unit_nonlinears,
                       &AmpedQuantities::card_bandwidth,  &AmpedQuantities::accelerator_bandwidth};
  for (const AmpedModel& model : {AmpedModel{}, AmpedModel::original()})
    for (double AmpedQuantities::*field : faster) {
      AmpedQuantities q = run_of_seven_billion();
      const double before = times(q, model).total_s;
      q.*field *= 2;
      EXPECT_LT(times(q, model).total_s, before);
    }
}

}  // namespace
}  // namespace orrery::cluster
