#include "orrery/cluster/amped_equations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/cluster/amped_search.h"

namespace orrery::cluster {
namespace {

// A run of some 7.5B parameters on 64 nodes of 8.
AmpedQuantities run_of_seven_billion() {
  AmpedQuantities q;
  q.layers = 36, q.dimensionality = 4096, q.attention_heads = 32, q.head_width = 128;
  q.key_query_value_length = 128, q.mlp_width = 16384, q.context = 2048, q.vocabulary = 51200;
  q.batch_size = 512, q.tokens_to_train = 3e11, q.experts = 1;
  q.weight_bits = q.activation_bits = q.gradient_bits = 16, q.optimizer_bits = 32;
  q.bigger_tile = 128;
  q.dp_intra = 1, q.tp_intra = 4, q.pp_intra = 2, q.dp_inter = 8, q.tp_inter = 2, q.pp_inter = 4;
  q.frequency = 1.41e9, q.cores = 108, q.units = 4, q.unit_macs = 256, q.nonlinear_units = 4, q.unit_nonlinears = 4;
  q.accelerator_bandwidth = 2.4e12, q.accelerator_latency = 3e-6, q.node_latency = 5e-6, q.card_bandwidth = 2e11;
  return q;
}

std::vector<bool> nothing() {
  return std::vector<bool>(amped_quantities().size(), false);
}

AmpedTimes times(AmpedQuantities q, const AmpedModel& model) {
  calculate(q, nothing(), model.defects);
  return amped_times(q, model);
}

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

TEST(AmpedSearch, EightAcceleratorsOn512NodesHave550Splits) {
  AmpedSpace space{8, 512, {512}, 0};
  EXPECT_EQ(amped_search(run_of_seven_billion(), nothing(), {}, space).considered, 550);
}

TEST(AmpedSearch, ValidCandidatesAreSortedWholeAndPricedAsTheyWouldBeAlone) {
  const AmpedSpace space{8, 8, amped_batch_sizes(512), 0};
  const AmpedSearch found = amped_search(run_of_seven_billion(), nothing(), {}, space);
  ASSERT_FALSE(found.valid.empty());
  const auto rejected =
      found.more_stages_than_layers + found.heads_not_shared + found.batch_not_shared + found.too_large;
  EXPECT_EQ(static_cast<std::int64_t>(found.valid.size()) + rejected, found.considered);
  for (std::size_t i = 0; i < found.valid.size(); ++i) {
    const AmpedCandidate& c = found.valid[i];
    if (i > 0) {
      EXPECT_GE(c.total_s, found.valid[i - 1].total_s);
    }
    EXPECT_EQ(c.dp_intra * c.tp_intra * c.pp_intra, 8);
    EXPECT_EQ(c.dp_inter * c.tp_inter * c.pp_inter, 8);
    EXPECT_EQ(36 % (c.pp_intra * c.pp_inter), 0);
  }
  AmpedQuantities q = run_of_seven_billion();
  const AmpedCandidate& best = found.valid.front();
  q.batch_size = static_cast<double>(best.batch);
  q.dp_intra = static_cast<double>(best.dp_intra), q.dp_inter = static_cast<double>(best.dp_inter);
  q.tp_intra = static_cast<double>(best.tp_intra), q.tp_inter = static_cast<double>(best.tp_inter);
  q.pp_intra = static_cast<double>(best.pp_intra), q.pp_inter = static_cast<double>(best.pp_inter);
  EXPECT_EQ(times(q, {}).total_s, best.total_s);
}

TEST(AmpedSearch, LessMemoryNeverAllowsMore) {
  AmpedSpace space{8, 8, {512}, 0};
  std::size_t before = amped_search(run_of_seven_billion(), nothing(), {}, space).valid.size();
  for (const double memory : {1000.0, 20.0, 5.0, 0.001}) {
    space.memory_gb = memory;
    const std::size_t now = amped_search(run_of_seven_billion(), nothing(), {}, space).valid.size();
    EXPECT_LE(now, before);
    before = now;
  }
  EXPECT_EQ(before, 0u);
}

TEST(AmpedSearch, TheOrderOfBatchSizesChangesNothing) {
  const AmpedSearch a = amped_search(run_of_seven_billion(), nothing(), {}, {8, 4, {64, 128, 512}, 0});
  const AmpedSearch b = amped_search(run_of_seven_billion(), nothing(), {}, {8, 4, {512, 64, 128}, 0});
  ASSERT_EQ(a.valid.size(), b.valid.size());
  for (std::size_t i = 0; i < a.valid.size(); ++i) EXPECT_EQ(a.valid[i].batch, b.valid[i].batch);
}

TEST(AmpedSearch, BatchSizesArePowersOfTwoUpToTheLargest) {
  EXPECT_EQ(amped_batch_sizes(1), (std::vector<base::Count>{1}));
  EXPECT_EQ(amped_batch_sizes(6), (std::vector<base::Count>{1, 2, 4, 6}));
  EXPECT_EQ(amped_batch_sizes(8), (std::vector<base::Count>{1, 2, 4, 8}));
}

}  // namespace
}  // namespace orrery::cluster
