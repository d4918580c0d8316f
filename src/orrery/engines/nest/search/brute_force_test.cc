// Every answer of the searches against every mapping there is: 6,400 problems that have one, each searched
// for three objectives and the front, and others that have none. ORRERY_PROBLEMS=N makes it 16 N. Problems of
// four kinds, so that the lattice, the branch and bound and the hand-over between them all take part; and 480
// problems for the search over tiles (of N, 1.2 N), most of them convolutions.
#include "orrery/engines/nest/search/brute_force_test_util.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

#include "orrery/engines/nest/search/shrink_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::Dice;
using testing::Instance;

enum class Kind { kAnything, kProducts, kTightPorts, kFree };

constexpr int kParts = 4;              // per kind, so that shards of the test program share them
constexpr int kProblems = 400;         // with a mapping, per part
constexpr int kUnderSanitizers = 125;  // they cost ten times as much

// Mappings before capacity. Few spaces in which nothing is constrained are small.
double largest_space(Kind kind) {
  return kind == Kind::kFree ? 200000 : 40000;
}

void constrain_factor(Instance& instance, int level, bool spatial, int dimension, Comparison comparison, Count value) {
  Constraint constraint;
  constraint.level = level;
  constraint.spatial = spatial;
  constraint.dimension = dimension;
  constraint.comparison = comparison;
  constraint.value = value;
  instance.space.constraints.push_back(constraint);
}

void constrain_keep(Instance& instance, int level, int dataspace, bool keep) {
  Constraint constraint;
  constraint.kind = Constraint::Kind::kKeep;
  constraint.level = level;
  constraint.dataspace = dataspace;
  constraint.keep = keep;
  instance.space.constraints.push_back(constraint);
}

// What random_chip() never draws: ports that all bind, storages that must be filled, fan-outs without a store,
// networks per dataspace or between two storages with destinations missing from their tables.
void vary_ports(Dice& dice, machine::Chip& chip) {
  for (machine::Storage& storage : chip.storages) {
    const auto bandwidth = [&]() -> std::optional<double> {
      if (dice.once_in(4)) return std::nullopt;
      return dice.hundredths(25, 400);
    };
    storage.read_words_per_cycle = bandwidth();
    storage.write_words_per_cycle = bandwidth();
    storage.shared_words_per_cycle = bandwidth();
  }
}

void vary_chip(Dice& dice, Instance& instance) {
  machine::Chip& chip = instance.chip;
  const int levels = static_cast<int>(chip.storages.size());
  for (int level = 0; level + 1 < levels; ++level) {
    machine::Storage& storage = chip.storages[level];
    if (storage.capacity_words && dice.once_in(8)) storage.multiple_buffering = 1.5;
    if (storage.capacity_words && dice.once_in(15)) storage.min_utilization = dice.hundredths(1, 60);
    if (!dice.once_in(10)) continue;
    storage.pass_through = true;
    storage.capacity_words.reset();
    storage.read_words_per_cycle = storage.write_words_per_cycle = storage.shared_words_per_cycle = std::nullopt;
    std::erase_if(instance.space.constraints, [&](const Constraint& constraint) {
      return constraint.level == level && (constraint.kind == Constraint::Kind::kKeep ||
                                           (constraint.kind == Constraint::Kind::kFactor && !constraint.spatial));
    });
    for (std::size_t d = 0; d < instance.einsum.dimensions.size(); ++d)
      constrain_factor(instance, level, false, static_cast<int>(d), Comparison::kEqual, 1);
    for (std::size_t s = 0; s < instance.einsum.dataspaces.size(); ++s)
      constrain_keep(instance, level, static_cast<int>(s), false);
  }
  if (!dice.once_in(5)) return;
  machine::Network network;
  network.name = "between";
  network.per_dataspace = dice(0, 1) == 1;
  const auto table = [&](const std::string& action) {
    for (const Count destinations : {1, 2, 3, 4, 6, 8, 16})
      if (destinations == 1 || dice(0, 1) == 1) network.energy_pj[action][destinations] = dice.hundredths(1, 300);
  };
  if (network.per_dataspace)
    for (const workload::Dataspace& dataspace : instance.einsum.dataspaces)
      table(network.action_name + "_" + dataspace.name);
  else
    table(network.action_name);
  machine::Storage& below = chip.storages[dice(0, levels - 2)];
  below.network_fill = network.name;
  if (dice(0, 1) == 1) below.network_drain = network.name;
  chip.networks.push_back(std::move(network));
}

Instance draw(Dice& dice, Kind kind) {
  Instance instance;
  const testing::ChipChoices sizes{2, 5};
  if (kind == Kind::kAnything) {
    instance.einsum = testing::random_einsum(dice, 8);
    instance.chip = testing::random_chip(dice, sizes);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
  } else {
    const auto bound = [&] { return dice.pick({1, 2, 2, 3, 4, 4, 6, 8, 9}); };
    instance.einsum = workload::matmul("product", bound(), bound(), bound());
    instance.chip = testing::random_chip(dice, sizes);
    if (kind == Kind::kTightPorts) vary_ports(dice, instance.chip);
    const int levels = static_cast<int>(instance.chip.storages.size());
    for (int level = 0; level < levels; ++level) {
      for (int d = 0; d < 3 && kind != Kind::kFree; ++d) {
        const auto divisors = base::divisors(instance.einsum.dimensions[d].bound);
        const Count any = divisors[dice(0, static_cast<Count>(divisors.size()) - 1)];
        // Beyond the innermost level, what the lattice leaves to the branch and bound is drawn now and then.
        if (level == 0 ? dice.once_in(2) : dice.once_in(30))
          constrain_factor(instance, level, false, d, static_cast<Comparison>(dice(0, 2)), any);
        else if (dice.once_in(3))
          constrain_factor(instance, level, false, d, Comparison::kEqual, 1);
        if (dice.once_in(3))
          constrain_factor(instance, level, true, d, dice.once_in(3) ? Comparison::kEqual : Comparison::kAtMost,
                           dice.pick({1, 2, 3, 4}));
      }
      for (int s = 0; s < 3; ++s)
        if (level + 1 == levels ? !dice.once_in(8) : kind != Kind::kFree && dice(0, 1) == 1)
          constrain_keep(instance, level, s, level + 1 == levels || dice(0, 1) == 1);
    }
  }
  if (dice.once_in(3)) vary_ports(dice, instance.chip);
  vary_chip(dice, instance);
  if (dice.once_in(3)) instance.options = testing::random_original(dice);
  return instance;
}

int problems() {
  if (const char* wanted = std::getenv("ORRERY_PROBLEMS")) return std::atoi(wanted);
  const char* sanitizers = std::getenv("ORRERY_SANITIZE");
  return sanitizers && *sanitizers ? kUnderSanitizers : kProblems;
}

// Every rule for most problems, one rule fewer for a few, so that each rule is right without the others.
SearchRules rules(std::uint64_t seed) {
  SearchRules limits;
  limits.lattice = seed % 16 > 2;
  limits.dominance = seed % 16 != 1;
  limits.prune_by_bound = seed % 16 != 2;
  return limits;
}

double size_of(const Instance& instance) {
  return Space(instance.einsum, instance.chip, instance.space, shape_of(instance.einsum)).size();
}

class EqualsBruteForce : public ::testing::TestWithParam<std::tuple<Kind, int>> {};

TEST_P(EqualsBruteForce, InEdpEnergyDelayAndTheFront) {
  const auto [kind, part] = GetParam();
  const int wanted = problems();
  int answered = 0, empty = 0, on_lattice = 0, with_a_front = 0;
  for (std::uint64_t seed = 0; answered < wanted; ++seed) {
    Dice dice =
        Dice::from_seed((seed * kParts + static_cast<std::uint64_t>(part)) * 4 + static_cast<std::uint64_t>(kind));
    const Instance instance = draw(dice, kind);
    if (size_of(instance) > largest_space(kind)) continue;
    const SearchRules limits = rules(seed);
    const testing::Verdict verdict = testing::compare_with_brute_force(instance, limits);
    ++(verdict.answered ? answered : empty);
    on_lattice += verdict.answered && verdict.lattice;
    with_a_front += verdict.front > 1;
    if (verdict.fault.empty()) continue;
    const Instance smallest = testing::shrink(instance, [&, kind = kind](const Instance& other) {
      return size_of(other) <= largest_space(kind) && !testing::compare_with_brute_force(other, limits).fault.empty();
    });
    FAIL() << "seed " << seed << ": " << verdict.fault << "\n"
           << describe(instance) << "shrunk: " << testing::compare_with_brute_force(smallest, limits).fault << "\n"
           << describe(smallest);
  }
  RecordProperty("empty", empty);
  RecordProperty("on_lattice", on_lattice);
  RecordProperty("with_a_front", with_a_front);
  // Both engines, both kinds of answer and fronts of more than a point took part.
  EXPECT_GT(with_a_front, answered / 5);
  if (kind == Kind::kAnything) {
    EXPECT_LT(on_lattice, answered / 2);
    EXPECT_GT(empty, 0);
  } else {
    EXPECT_GT(on_lattice, answered / 2);
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Kind, int>>& test) {
  static constexpr const char* kNames[] = {"Anything", "Products", "TightPorts", "Free"};
  return kNames[static_cast<int>(std::get<0>(test.param))] + std::to_string(std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Problems, EqualsBruteForce,
                         ::testing::Combine(::testing::Values(Kind::kAnything, Kind::kProducts, Kind::kTightPorts,
                                                              Kind::kFree),
                                            ::testing::Range(0, kParts)),
                         name_of);

class TilesEqualBruteForce : public ::testing::TestWithParam<int> {};

TEST_P(TilesEqualBruteForce, OnConvolutionsAndWhatTheyCanDoBeside) {
  const int wanted = problems() / 5;
  int answered = 0, sliding = 0, with_a_front = 0;
  for (std::uint64_t seed = 0; answered < wanted; ++seed) {
    Dice dice = Dice::from_seed(seed * kParts + static_cast<std::uint64_t>(GetParam()));
    Instance instance;
    instance.einsum = dice.once_in(5) ? testing::random_einsum(dice, 8) : testing::random_convolution(dice);
    instance.chip = testing::random_chip(dice);
    if (dice.once_in(3)) vary_ports(dice, instance.chip);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    // Without temporal reuse the search is another one.
    for (ReuseRules& rules : instance.space.reuse) rules.no_temporal_reuse = 0;
    if (dice.once_in(3)) instance.options = testing::random_original(dice);
    if (size_of(instance) > largest_space(Kind::kAnything)) continue;
    SearchRules limits;
    limits.tiles = true;
    if (seed % 2 == 0) limits.families_from = 0;
    const testing::Verdict verdict = testing::compare_with_brute_force(instance, limits);
    answered += verdict.answered;
    sliding += verdict.answered && shape_of(instance.einsum).sliding;
    with_a_front += verdict.front > 1;
    ASSERT_EQ(verdict.fault, "") << "seed " << seed << "\n" << describe(instance);
  }
  EXPECT_GT(sliding, answered / 3);
  EXPECT_GT(with_a_front, answered / 8);
}

// Stretched, on a diagonal, or overlapping: words lie between those that a tile's operations update.
workload::Einsum outputs_with_holes(Dice& dice) {
  while (true) {
    workload::Einsum einsum;
    if (!dice.once_in(3)) {
      einsum.name = "transposed";
      einsum.dimensions = {{"R", dice(2, 3)}, {"P", dice(2, 6)}, {"C", dice(1, 3)}};
      workload::Dataspace weights{"Weights", {{{{0, 1}}}, {{{2, 1}}}}, false};
      workload::Dataspace inputs{"Inputs", {{{{1, 1}}}, {{{2, 1}}}}, false};
      workload::Dataspace outputs{"Outputs", {{{{0, dice(1, 2)}, {1, dice(1, 3)}}}}, true};
      if (dice.once_in(3)) {
        einsum.dimensions.push_back({"K", 2});
        weights.ranks.push_back({{{3, 1}}}), outputs.ranks.push_back({{{3, dice(1, 2)}}});
      }
      einsum.dataspaces = {weights, inputs, outputs};
    } else {
      einsum = testing::random_einsum(dice, 8);
      std::vector<workload::Rank>& ranks = einsum.dataspaces.back().ranks;
      for (workload::Rank& rank : ranks) rank.terms[0].coefficient = dice(1, 3);
      if (dice.once_in(4)) ranks.push_back({{{ranks[0].terms[0].dimension, dice(1, 2)}}});
    }
    if (einsum.dimensions.size() <= 6 && shape_of(einsum).gaps.back()) return einsum;
  }
}

TEST_P(TilesEqualBruteForce, OfOutputsWithHoles) {
  const int wanted = problems() / 10;
  int answered = 0, sliding = 0;
  for (std::uint64_t seed = 0; answered < wanted; ++seed) {
    Dice dice = Dice::from_seed(seed * kParts + static_cast<std::uint64_t>(GetParam()));
    Instance instance;
    instance.einsum = outputs_with_holes(dice);
    instance.chip = testing::random_chip(dice);
    if (dice.once_in(3)) vary_ports(dice, instance.chip);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    if (dice.once_in(3)) instance.options = testing::random_original(dice);
    if (size_of(instance) > largest_space(Kind::kAnything)) continue;
    SearchRules limits = rules(seed / 2);
    limits.tiles = seed % 2 == 0;
    if (seed % 4 == 0) limits.families_from = 0;
    const testing::Verdict verdict = testing::compare_with_brute_force(instance, limits);
    answered += verdict.answered;
    sliding += verdict.answered && shape_of(instance.einsum).sliding;
    ASSERT_EQ(verdict.fault, "") << "seed " << seed << "\n" << describe(instance);
  }
  EXPECT_GT(sliding, answered / 10);
  EXPECT_LT(sliding, answered);
}

INSTANTIATE_TEST_SUITE_P(Problems, TilesEqualBruteForce, ::testing::Range(0, kParts));

// Shrunk from a problem of the above: the lattice once passed over a storage that may keep nothing, although it
// must be filled.
TEST(MinimumUse, AStorageThatMayKeepNothingCannotBeFilled) {
  Dice dice = Dice::from_seed(1);
  Instance instance;
  instance.einsum = workload::matmul("product", 2, 2, 2);
  instance.chip = testing::random_chip(dice, {3, 3});
  instance.chip.storages[1].capacity_words = 4;
  instance.chip.storages[1].min_utilization = 0.5;
  for (int s = 0; s < 3; ++s) constrain_keep(instance, 1, s, false);
  for (const bool lattice : {true, false}) {
    SearchRules limits;
    limits.lattice = lattice;
    const Optimum found = optimize(Model(instance.einsum, instance.chip), instance.space, {Metric::kEdp}, limits);
    EXPECT_TRUE(found.infeasible);
    EXPECT_EQ(found.conflicts.size(), 4u);  // the filling, and each of the three lines
    EXPECT_EQ(testing::compare_with_brute_force(instance, limits).fault, "");
  }
}

// Seed 15519 of the convolutions: a word on a diagonal reaches fewer instances than it might, and the network's table
// asks more for these.
TEST(Tiles, AnswerIsTheBestWhereFewerDestinationsCostMore) {
  Instance instance;
  instance.einsum.name = "convolution";
  instance.einsum.dimensions = {{"R", 4}, {"L", 4}, {"K", 3}, {"C", 1}};
  instance.einsum.dataspaces = {{"Weights", {{{{0, 1}}}, {{{2, 1}}}, {{{3, 1}}}}, false},
                                {"Inputs", {{{{0, 1}, {1, 2}}}, {{{3, 1}}}}, false},
                                {"Outputs", {{{{1, 1}}}, {{{2, 1}}}}, true}};
  instance.chip.name = "diagonal";
  instance.chip.storages.resize(2);
  machine::Storage &inner = instance.chip.storages[0], &outer = instance.chip.storages[1];
  inner.name = "Inner";
  inner.mesh_x = inner.mesh_y = 4;
  inner.instances = 16;
  inner.capacity_words = 4;
  inner.multiple_buffering = 2;
  inner.write_words_per_cycle = 1.47;
  inner.energy = {.read_pj = 3.51, .write_pj = 2.56, .update_pj = 1.41};
  inner.energy.leak_pj_per_cycle = 0.1;
  outer.name = "DRAM";
  outer.block_size = 2;
  outer.energy = {.read_pj = 1.24, .write_pj = 7.05, .update_pj = 3.26};
  outer.network_fill_latency_cycles = 1;
  for (machine::Storage* storage : {&inner, &outer}) {
    machine::Network network;
    network.name = storage->name + "_network";
    network.energy_pj[network.action_name] = storage == &inner
                                                 ? std::map<Count, double>{{1, 0.66}, {2, 0.02}}
                                                 : std::map<Count, double>{{1, 2.98}, {2, 0.39}, {3, 1.85}, {4, 2.97}};
    storage->network_read = network.name;
    if (storage == &inner) storage->network_update = network.name;
    instance.chip.networks.push_back(std::move(network));
  }
  instance.chip.compute.mesh_x = 4;
  instance.chip.compute.mesh_y = 12;
  instance.chip.compute.instances = 48;
  instance.chip.compute.compute_pj = 0.85;
  instance.chip.compute.leak_pj_per_cycle = 0.05;
  constrain_keep(instance, 0, 2, false);
  for (int s = 0; s < 3; ++s) constrain_keep(instance, 1, s, true);
  constrain_factor(instance, 1, true, 0, Comparison::kAtMost, 2);
  Constraint order;
  order.kind = Constraint::Kind::kOrder;
  order.level = 1;
  order.spatial = true;
  order.inner = {2};
  order.outer = {1, 0, 3};
  instance.space.constraints.push_back(order);
  instance.space.reuse.resize(2);
  instance.space.reuse[0].read_first_update = 0b101;
  SearchRules limits;
  limits.tiles = true;
  EXPECT_EQ(testing::compare_with_brute_force(instance, limits).fault, "");
}

}  // namespace
}  // namespace orrery::nest
