#include "orrery/engines/nest/search/imperfect/imperfect_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "orrery/engines/nest/search/brute_force_test_util.h"
#include "orrery/engines/nest/space/padding.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::BruteForce;
using testing::Dice;
using testing::Instance;

constexpr double kMostMappings = 5'000;

// All ways to write `bound` with a factor for each block, innermost first, where the outermost loop rounds up.
std::vector<std::vector<Count>> all_factors(std::size_t blocks, Count bound) {
  std::vector<std::vector<Count>> found;
  std::vector<Count> factors(blocks, 1);
  const std::function<void(std::size_t, Count)> extend = [&](std::size_t block, Count inside) {
    if (block == blocks) {
      if (inside >= bound) found.push_back(factors);
      return;
    }
    factors[block] = 1;
    extend(block + 1, inside);
    for (Count factor = 2; inside < bound && factor <= (bound + inside - 1) / inside; ++factor) {
      factors[block] = factor;
      extend(block + 1, inside * factor);
    }
    factors[block] = 1;
  };
  extend(0, 1);
  return found;
}

// Every mapping of a small problem, or nothing where there are too many.
std::optional<BruteForce> enumerate_imperfect(const Instance& instance, const Model& model) {
  const workload::Einsum& einsum = instance.einsum;
  const std::size_t levels = instance.chip.storages.size(), dims = einsum.dimensions.size();
  const auto all = static_cast<std::uint32_t>((1u << einsum.dataspaces.size()) - 1);
  std::vector<Count> bounds;
  std::vector<std::vector<std::vector<Count>>> factors;
  double combinations = 1;
  for (const workload::Dimension& dimension : einsum.dimensions) {
    bounds.push_back(dimension.bound);
    factors.push_back(all_factors(2 * levels, dimension.bound));
    combinations *= static_cast<double>(factors.back().size());
  }
  if (combinations > 1'500) return std::nullopt;
  BruteForce out;
  Evaluation evaluation;
  bool too_many = false;
  Mapping mapping;
  mapping.levels.resize(levels);
  for (LevelMapping& level : mapping.levels) level.temporal.assign(dims, 1), level.spatial.assign(dims, 1);

  const std::vector<Constraint>& constraints = instance.space.constraints;
  const auto factors_allowed = [&] {
    return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& one) {
      if (one.kind != Constraint::Kind::kFactor) return true;
      const LevelMapping& level = mapping.levels[one.level];
      const Count factor = (one.spatial ? level.spatial : level.temporal)[one.dimension];
      return one.comparison == Comparison::kEqual    ? factor == one.value
             : one.comparison == Comparison::kAtMost ? factor <= one.value
                                                     : factor >= one.value;
    });
  };
  const auto legal = [&] { return is_legal(einsum, instance.chip, mapping); };
  const auto price = [&] {
    if (!legal() || !is_allowed(einsum, instance.chip, mapping, instance.space)) return;
    if (++out.mappings > kMostMappings) too_many = true;
    model.evaluate(mapping, evaluation);
    const auto [at, fresh] = out.least_energy.try_emplace(evaluation.cycles, evaluation.energy_pj);
    if (!fresh) at->second = std::min(at->second, evaluation.energy_pj);
  };
  // Orders of loops, then what is kept.
  const std::function<void(std::size_t)> keep = [&](std::size_t level) {
    if (too_many) return;
    if (level == levels) return price();
    for (std::uint32_t mask = 0; mask <= all; ++mask) {
      if (std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& one) {
            return one.kind == Constraint::Kind::kKeep && one.level == static_cast<int>(level) &&
                   (mask >> one.dataspace & 1) != one.keep;
          }))
        continue;
      mapping.levels[level].keep = mask;
      keep(level + 1);
    }
  };
  const std::function<void(std::size_t)> order = [&](std::size_t level) {
    if (too_many) return;
    if (level == levels) return keep(0);
    LevelMapping& here = mapping.levels[level];
    std::vector<int> iterating, still;
    for (std::size_t d = 0; d < dims; ++d) (here.temporal[d] > 1 ? iterating : still).push_back(static_cast<int>(d));
    do {
      here.temporal_order = iterating;
      here.temporal_order.insert(here.temporal_order.end(), still.begin(), still.end());
      order(level + 1);
    } while (std::next_permutation(iterating.begin(), iterating.end()));
  };
  // One layout in space where there is one: any order and split that is legal and allowed.
  const std::function<void(std::size_t)> lay_out = [&](std::size_t level) {
    if (level == levels) return order(0);
    LevelMapping& here = mapping.levels[level];
    std::vector<int> loops;
    Count wide = 1;
    for (std::size_t d = 0; d < dims; ++d) {
      loops.push_back(static_cast<int>(d));
      wide *= here.spatial[d];
    }
    if (wide > instance.chip.fanout_x(static_cast<int>(level)) * instance.chip.fanout_y(static_cast<int>(level)))
      return;
    do {
      for (int split = 0; split <= static_cast<int>(dims); ++split) {
        here.spatial_order = loops;
        here.split = split;
        Count x = 1, y = 1;
        for (int k = 0; k < static_cast<int>(dims); ++k) (k < split ? x : y) *= here.spatial[loops[k]];
        if (x > instance.chip.fanout_x(static_cast<int>(level)) || y > instance.chip.fanout_y(static_cast<int>(level)))
          continue;
        bool fine = true;
        for (const Constraint& constraint : instance.space.constraints) {
          if (constraint.level != static_cast<int>(level) || !constraint.spatial) continue;
          if (constraint.kind != Constraint::Kind::kOrder && constraint.kind != Constraint::Kind::kSplit) continue;
          Mapping one = mapping;
          for (LevelMapping& other : one.levels) {
            if (other.temporal_order.empty()) other.temporal_order = loops;
            if (other.spatial_order.empty()) other.spatial_order = loops;
          }
          Mapspace alone = instance.space;
          std::erase_if(alone.constraints, [&](const Constraint& other) {
            return other.level != constraint.level || !other.spatial ||
                   (other.kind != Constraint::Kind::kOrder && other.kind != Constraint::Kind::kSplit);
          });
          fine = fine && is_allowed(einsum, instance.chip, one, alone);
        }
        if (fine) return lay_out(level + 1);
      }
    } while (std::next_permutation(loops.begin(), loops.end()));
  };
  const std::function<void(std::size_t)> choose = [&](std::size_t d) {
    if (too_many) return;
    if (d == dims) {
      for (LevelMapping& level : mapping.levels) level.temporal_last.clear(), level.spatial_last.clear();
      if (factors_allowed() && complete(mapping, bounds)) lay_out(0);
      return;
    }
    for (const std::vector<Count>& some : factors[d]) {
      for (std::size_t i = 0; i < levels; ++i) {
        mapping.levels[i].spatial[d] = some[2 * i];
        mapping.levels[i].temporal[d] = some[2 * i + 1];
      }
      choose(d + 1);
    }
  };
  choose(0);
  if (too_many) return std::nullopt;
  return out;
}

Instance random_problem(Dice& dice) {
  Instance instance;
  instance.einsum = testing::random_einsum(dice, 8);
  for (workload::Dimension& dimension : instance.einsum.dimensions) dimension.bound = dice(1, 7);
  if (dice.once_in(3)) instance.einsum.dataspaces[0].ranks[0].terms[0].coefficient = dice(2, 3);
  testing::ChipChoices choices;
  choices.most_storages = 3;
  instance.chip = testing::random_chip(dice, choices);
  instance.space = testing::random_space(dice, instance.einsum, instance.chip);
  if (dice.once_in(3)) instance.options = testing::random_original(dice);
  return instance;
}

// Operands as lists of dimensions; the last is the result.
workload::Einsum einsum_of(Dice& dice, const char* dimensions, std::vector<std::string> operands, Count largest) {
  workload::Einsum einsum;
  einsum.name = "einsum";
  for (const char* name = dimensions; *name != 0; ++name)
    einsum.dimensions.push_back({std::string(1, *name), dice(1, largest)});
  for (const std::string& operand : operands) {
    workload::Dataspace dataspace{operand + std::to_string(einsum.dataspaces.size()), {}, false};
    for (const char name : operand)
      dataspace.ranks.push_back({{{static_cast<int>(std::string(dimensions).find(name)), 1}}});
    einsum.dataspaces.push_back(std::move(dataspace));
  }
  einsum.dataspaces.back().read_write = true;
  return einsum;
}

workload::Einsum of_many_dimensions(Dice& dice) {
  switch (dice(0, 3)) {
    case 0:  // heads or a batch
      return einsum_of(dice, "BMKN", {"BMK", "BKN", "BMN"}, 4);
    case 1:  // one matrix for all of a batch
      return einsum_of(dice, "BMKN", {"BMK", "KN", "BMN"}, 4);
    case 2:  // a contraction over two dimensions
      return einsum_of(dice, "MKJN", {"MKJ", "JKN", "MN"}, 4);
    default:
      return einsum_of(dice, "ABMKN", {"ABMK", "AKN", "ABMN"}, 3);
  }
}

workload::Einsum normalisation_or_element_wise(Dice& dice) {
  switch (dice(0, 4)) {
    case 0:  // sweeps over columns
      return einsum_of(dice, "LED", {"D", "EL", "EL"}, 7);
    case 1:
      return einsum_of(dice, "MN", {"MN", "MN", "MN"}, 9);
    case 2:  // a bias
      return einsum_of(dice, "MNB", {"BMN", "N", "BMN"}, 6);
    case 3:  // sums of rows
      return einsum_of(dice, "MN", {"MN", "M"}, 9);
    default:
      return einsum_of(dice, "BMNH", {"BMNH", "BMNH", "BMNH"}, 4);
  }
}

int problems(int unless_asked_otherwise) {
  const char* wanted = std::getenv("ORRERY_REST_PROBLEMS");
  return wanted ? std::atoi(wanted) : unless_asked_otherwise;
}

void expect_brute_force(int problems, const std::function<Instance(Dice&)>& draw, int least_better) {
  int compared = 0, answered = 0, better = 0;
  for (std::uint64_t seed = 0; compared < problems; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const Instance instance = draw(dice);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const std::optional<BruteForce> expected = enumerate_imperfect(instance, model);
    if (!expected) continue;
    ++compared;
    answered += expected->empty() ? 0 : 1;
    for (const Metric metric : {Metric::kEdp, Metric::kEnergy, Metric::kDelay}) {
      const ImperfectOptimum found = optimize_imperfect(model, instance.space, {metric}, {});
      ASSERT_EQ(testing::fault_of(found.optimum, *expected, metric, instance, model), "")
          << "seed " << seed << " metric " << static_cast<int>(metric);
      if (!found.optimum.mapping) continue;
      const double value = key_of({metric}, found.optimum.evaluation)[0];
      if (!found.perfect || value < key_of({metric}, *found.perfect)[0] * 0.99) ++better;
    }
  }
  EXPECT_GT(answered, problems / 2);
  EXPECT_GT(better, least_better);
}

TEST(RestSearch, EqualsBruteForce) {
  const int all = problems(700);
  expect_brute_force(all, random_problem, all / 4);
}

std::function<Instance(Dice&)> on_random_chips(workload::Einsum (*einsum)(Dice&), int most_storages) {
  return [=](Dice& dice) {
    Instance instance;
    instance.einsum = einsum(dice);
    testing::ChipChoices choices;
    choices.most_storages = most_storages;
    instance.chip = testing::random_chip(dice, choices);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    if (dice.once_in(3)) instance.options = testing::random_original(dice);
    return instance;
  };
}

TEST(RestSearch, EqualsBruteForceOfProductsOfManyDimensions) {
  const int all = problems(250);
  expect_brute_force(all, on_random_chips(of_many_dimensions, 2), all / 8);
}

TEST(RestSearch, EqualsBruteForceOfNormalisationsAndElementWise) {
  const int all = problems(250);
  expect_brute_force(all, on_random_chips(normalisation_or_element_wise, 3), all / 8);
}

workload::Einsum small_window(Dice& dice) {
  while (true) {
    workload::Einsum einsum = testing::random_window(dice);
    for (workload::Dimension& dimension : einsum.dimensions) dimension.bound = std::min(dimension.bound, dice(1, 5));
    if (einsum.dimensions.size() <= 5 && shape_of(einsum).sliding) return einsum;
  }
}

TEST(RestSearch, EqualsBruteForceOfConvolutions) {
  const int all = problems(250);
  expect_brute_force(all, on_random_chips(small_window, 2), all / 20);
}

// The rows of a prime size on an array: a matrix product that perfect factors serve badly.
Instance awkward_product() {
  Instance instance;
  instance.einsum.name = "product";
  instance.einsum.dimensions = {{"M", 97}, {"K", 48}, {"N", 53}};
  instance.einsum.dataspaces = {{"A", {{{{0, 1}}}, {{{1, 1}}}}, false},
                                {"B", {{{{1, 1}}}, {{{2, 1}}}}, false},
                                {"C", {{{{0, 1}}}, {{{2, 1}}}}, true}};
  instance.chip.name = "array";
  instance.chip.storages.resize(2);
  machine::Storage &buffer = instance.chip.storages[0], &memory = instance.chip.storages[1];
  buffer.name = "Buffer";
  buffer.capacity_words = 2'000;
  buffer.energy = {.read_pj = 1, .write_pj = 1, .update_pj = 1};
  memory.name = "DRAM";
  memory.energy = {.read_pj = 60, .write_pj = 60, .update_pj = 60};
  instance.chip.compute.mesh_x = instance.chip.compute.mesh_y = 8;
  instance.chip.compute.instances = 64;
  instance.chip.compute.compute_pj = 0.5;
  return instance;
}

TEST(RestSearch, IsNoWorseThanPerfectAndPaddedFactors) {
  const Instance instance = awkward_product();
  const Model model(instance.einsum, instance.chip);
  SearchLimits limits;
  limits.seconds = 8;
  const ImperfectOptimum found = optimize_imperfect(model, instance.space, {Metric::kEdp}, limits);
  const PaddedOptimum padded = optimize_padded(model, instance.space, {Metric::kEdp}, limits);
  ASSERT_TRUE(found.optimum.mapping && found.perfect && padded.optimum.mapping);
  EXPECT_LE(found.optimum.evaluation.edp_j_cycles, padded.optimum.evaluation.edp_j_cycles);
  EXPECT_LT(found.optimum.evaluation.edp_j_cycles, found.perfect->edp_j_cycles / 2);
  EXPECT_LE(found.optimum.certificate.lower_bound, found.optimum.evaluation.edp_j_cycles);
  EXPECT_TRUE(is_legal(instance.einsum, instance.chip, *found.optimum.mapping));
  EXPECT_TRUE(found.optimum.certificate.optimal);
}

}  // namespace
}  // namespace orrery::nest
