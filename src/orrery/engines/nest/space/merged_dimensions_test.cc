#include "orrery/engines/nest/space/merged_dimensions.h"

#include <gtest/gtest.h>

#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/search/enumerate.h"
#include "orrery/engines/nest/search/objective.h"
#include "orrery/engines/nest/search/random_space_test_util.h"
#include "orrery/engines/nest/search/search_rules.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;

workload::Rank rank(std::vector<workload::Term> terms) {
  return {std::move(terms)};
}

// A convolution of K channels over P rows and Q columns, with a window of R rows.
workload::Einsum convolution(Count k, Count c, Count p, Count q, Count r, Count stride) {
  workload::Einsum conv;
  conv.name = "conv";
  conv.dimensions = {{"K", k}, {"C", c}, {"P", p}, {"Q", q}, {"R", r}};
  conv.dataspaces = {{"Weights", {rank({{0, 1}}), rank({{1, 1}}), rank({{4, 1}})}, false},
                     {"Inputs", {rank({{1, 1}}), rank({{2, stride}, {4, 1}}), rank({{3, stride}})}, false},
                     {"Outputs", {rank({{0, 1}}), rank({{2, 1}}), rank({{3, 1}})}, true}};
  return conv;
}

// Products of a batch B and H heads.
workload::Einsum batched(Count b, Count h, Count m, Count n) {
  workload::Einsum product;
  product.name = "batched";
  product.dimensions = {{"B", b}, {"H", h}, {"M", m}, {"N", n}};
  product.dataspaces = {{"X", {rank({{0, 1}}), rank({{1, 1}}), rank({{2, 1}})}, false},
                        {"Y", {rank({{0, 1}}), rank({{1, 1}}), rank({{3, 1}})}, false},
                        {"Z", {rank({{0, 1}}), rank({{1, 1}}), rank({{2, 1}}), rank({{3, 1}})}, true}};
  return product;
}

TEST(Merge, OnlyDimensionsThatNoDataspaceTellsApartAreOne) {
  machine::Chip chip;
  chip.storages.resize(2);
  chip.compute.instances = chip.compute.mesh_x = 4;
  const auto dims = [&](const workload::Einsum& einsum, const Mapspace& space = {}) {
    const auto merged = merge_alike(einsum, chip, space);
    return merged ? merged->einsum.dimensions.size() : einsum.dimensions.size();
  };
  EXPECT_EQ(dims(convolution(4, 3, 5, 7, 1, 1)), 4u) << "P and Q are one, R of 1 is none of them";
  EXPECT_EQ(dims(convolution(4, 3, 5, 7, 3, 1)), 5u) << "rows slide";
  EXPECT_EQ(dims(convolution(4, 3, 5, 7, 1, 2)), 5u) << "words between are skipped";
  EXPECT_EQ(dims(batched(2, 3, 4, 5)), 3u);
  Mapspace fixed;
  Constraint constraint;
  constraint.level = 0;
  constraint.dimension = 0;
  constraint.value = 1;
  constraint.comparison = Comparison::kEqual;
  fixed.constraints = {constraint};
  EXPECT_EQ(dims(batched(2, 3, 4, 5), fixed), 4u) << "B has no loop there, H may";
  constraint.dimension = 1;
  fixed.constraints.push_back(constraint);
  EXPECT_EQ(dims(batched(2, 3, 4, 5), fixed), 3u);
  fixed.constraints[0].value = fixed.constraints[1].value = 2;
  EXPECT_EQ(dims(batched(2, 3, 4, 5), fixed), 4u);
  chip.compute.mesh_y = 2, chip.compute.instances = 8;
  EXPECT_EQ(dims(batched(2, 3, 4, 5)), 3u) << "each of them lies along X or along Y";
}

// Storages inside two fan-outs of 2 x 2 each, and the DRAM.
machine::Chip twice_two_by_two() {
  machine::Chip chip;
  chip.storages.resize(3);
  const char* const names[] = {"Inner", "Middle", "DRAM"};
  const Count sides[] = {2, 2, 1};
  const double pj[] = {1, 10, 100};
  for (int i = 0; i < 3; ++i) {
    machine::Storage& storage = chip.storages[i];
    storage.name = names[i];
    storage.mesh_x = storage.mesh_y = sides[i];
    storage.instances = storage.mesh_x * storage.mesh_y;
    storage.energy.read_pj = storage.energy.write_pj = storage.energy.update_pj = pj[i];
  }
  chip.compute.mesh_x = chip.compute.mesh_y = 4;
  chip.compute.instances = 16;
  return chip;
}

TEST(Merge, AFactorOnTwoSidesIsOneOfEachPart) {
  const machine::Chip chip = twice_two_by_two();
  // Rows and columns of a 1 x 1 convolution on a chip with 16 multipliers.
  for (const auto& [p, q, busy] : {std::tuple<Count, Count, double>{4, 4, 16}, {8, 2, 8}, {16, 3, 4}, {6, 6, 4}}) {
    const workload::Einsum conv = convolution(1, 1, p, q, 1, 1);
    const auto merged = merge_alike(conv, chip, {});
    ASSERT_TRUE(merged);
    const Model model(conv, chip);
    const Optimum found = optimize(model, {}, {Metric::kDelay}, SearchRules{});
    ASSERT_TRUE(found.mapping);
    EXPECT_TRUE(is_legal(conv, chip, *found.mapping)) << p << " x " << q;
    EXPECT_TRUE(found.certificate.optimal) << p << " x " << q;
    EXPECT_EQ(static_cast<double>(found.evaluation.cycles), static_cast<double>(p * q) / busy) << p << " x " << q;
  }
}

TEST(Merge, OptimaAreThoseOfAllMappingsOfTheOriginal) {
  int merged = 0, empty = 0;
  for (std::uint64_t seed = 0; merged < 400; ++seed) {
    Dice dice = Dice::from_seed(seed * 7919 + 3);
    Instance instance;
    const auto bound = [&] { return dice.pick({1, 2, 3, 4, 6}); };
    instance.einsum = dice.once_in(2) ? convolution(bound(), bound(), bound(), bound(), 1, 1)
                                      : batched(bound(), bound(), bound(), bound());
    instance.chip = testing::random_chip(dice);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    // Of what constraints may say, that which leaves dimensions alike, and for every third of them the rest, too.
    if (!dice.once_in(3))
      std::erase_if(instance.space.constraints, [](const Constraint& c) {
        return c.kind == Constraint::Kind::kFactor || c.kind == Constraint::Kind::kOrder ||
               c.kind == Constraint::Kind::kSplit;
      });
    if (dice.once_in(3)) instance.options = testing::random_original(dice);
    const auto one = merge_alike(instance.einsum, instance.chip, instance.space);
    if (!one) continue;
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    if (space.size() > 20'000) continue;
    ++merged;
    for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay}) {
      double best = -1;
      enumerate(instance.einsum, space, [&](const Mapping& mapping) {
        const double value = key_of({metric}, model.evaluate(mapping))[0];
        if (best < 0 || value < best) best = value;
        return true;
      });
      const Optimum found = optimize(model, instance.space, {metric}, SearchRules{});
      ASSERT_EQ(found.mapping.has_value(), best >= 0) << "seed " << seed;
      if (!found.mapping) {
        ++empty;
        break;
      }
      EXPECT_TRUE(found.certificate.optimal) << "seed " << seed;
      EXPECT_TRUE(is_legal(instance.einsum, instance.chip, *found.mapping)) << "seed " << seed;
      EXPECT_TRUE(is_allowed(instance.einsum, instance.chip, *found.mapping, instance.space)) << "seed " << seed;
      ASSERT_NEAR(key_of({metric}, model.evaluate(*found.mapping))[0], best, 1e-11 * best) << "seed " << seed;
    }
  }
  EXPECT_LT(empty, 300);
}

}  // namespace
}  // namespace orrery::nest
