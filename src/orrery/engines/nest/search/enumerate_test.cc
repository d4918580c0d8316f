// Whether the enumeration lists all there is. It shares the reading of constraints (space.h) with the searches that
// are tested against it, so it is tested here against the other reading, legality.h: every mapping that can be
// written down, kept when is_legal() and is_allowed() say so.
#include "orrery/engines/nest/search/enumerate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "orrery/engines/nest/search/brute_force_test_util.h"

namespace orrery::nest {
namespace {

using base::Count;
using testing::BruteForce;
using testing::Dice;
using testing::Instance;

// Every way to write `bound` as a product over `blocks` blocks.
std::vector<std::vector<Count>> factorisations(Count bound, int blocks) {
  if (blocks == 1) return {{bound}};
  std::vector<std::vector<Count>> out;
  for (const Count f : base::divisors(bound))
    for (std::vector<Count> rest : factorisations(bound / f, blocks - 1)) {
      rest.insert(rest.begin(), f);
      out.push_back(std::move(rest));
    }
  return out;
}

class Everything {
 public:
  Everything(const Instance& instance, const Model& model)
      : instance_(instance),
        model_(model),
        dimensions_(static_cast<int>(instance.einsum.dimensions.size())),
        levels_(static_cast<int>(instance.chip.storages.size())),
        mapping_(testing::everything_outermost(instance.einsum, instance.chip)) {
    for (const workload::Dimension& dimension : instance.einsum.dimensions)
      splits_.push_back(factorisations(dimension.bound, 2 * levels_));
  }

  BruteForce run() {
    factor(0);
    return std::move(out_);
  }

 private:
  void factor(int d) {
    if (d == dimensions_) return lay_out(0);
    for (const std::vector<Count>& split : splits_[d]) {
      for (int i = 0; i < levels_; ++i) {
        mapping_.levels[i].spatial[d] = split[2 * i];
        mapping_.levels[i].temporal[d] = split[2 * i + 1];
      }
      factor(d + 1);
    }
  }

  // All whole orders, unit loops included, all sides of the array and all choices of what to keep of level i and those
  // outside it.
  void lay_out(int i) {
    if (i == levels_) {
      if (!is_legal(instance_.einsum, instance_.chip, mapping_) ||
          !is_allowed(instance_.einsum, instance_.chip, mapping_, instance_.space))
        return;
      model_.evaluate(mapping_, evaluation_);
      ++out_.mappings;
      const auto [at, fresh] = out_.least_energy.try_emplace(evaluation_.cycles, evaluation_.energy_pj);
      if (!fresh) at->second = std::min(at->second, evaluation_.energy_pj);
      return;
    }
    LevelMapping& level = mapping_.levels[i];
    const auto iterates = [](const std::vector<Count>& factors) {
      return std::any_of(factors.begin(), factors.end(), [](Count f) { return f > 1; });
    };
    std::sort(level.temporal_order.begin(), level.temporal_order.end());
    do {
      for (std::uint32_t to_x = 0; to_x < 1u << dimensions_; ++to_x) {
        level.spatial_order.clear();
        for (const bool x : {true, false})
          for (int d = 0; d < dimensions_; ++d)
            if ((to_x >> d & 1) == x) level.spatial_order.push_back(d);
        level.split = __builtin_popcount(to_x);
        do {
          for (level.keep = 0; level.keep < 1u << instance_.einsum.dataspaces.size(); ++level.keep) lay_out(i + 1);
        } while (iterates(level.spatial) && in_halves(level));
        if (!iterates(level.spatial)) break;
      }
    } while (iterates(level.temporal) &&
             std::next_permutation(level.temporal_order.begin(), level.temporal_order.end()));
  }

  // The next order of the loops along X and of those along Y; false after the last, which is the first again.
  static bool in_halves(LevelMapping& level) {
    const auto middle = level.spatial_order.begin() + level.split;
    return std::next_permutation(level.spatial_order.begin(), middle) ||
           std::next_permutation(middle, level.spatial_order.end());
  }

  const Instance& instance_;
  const Model& model_;
  const int dimensions_, levels_;
  std::vector<std::vector<std::vector<Count>>> splits_;
  Mapping mapping_;
  Evaluation evaluation_;
  BruteForce out_;
};

TEST(Enumerate, ReachesTheCostOfEveryMappingThatIsLegalAndAllowed) {
  const char* sanitizers = std::getenv("ORRERY_SANITIZE");
  const int wanted = sanitizers && *sanitizers ? 8 : 80;
  int seen = 0, empty = 0;
  double mappings = 0;
  for (std::uint64_t seed = 0; seen < wanted; ++seed) {
    Dice dice = Dice::from_seed(seed * 15485863 + 3);
    Instance instance;
    instance.einsum = testing::random_einsum(dice, 4);
    if (instance.einsum.dimensions.size() > 3 || instance.einsum.operations() > 16) continue;
    instance.chip = testing::random_chip(dice, {2, 2});
    for (machine::Storage& storage : instance.chip.storages)
      if (storage.capacity_words && dice.once_in(4)) storage.min_utilization = dice.hundredths(1, 60);
    instance.space = testing::random_space(dice, instance.einsum, instance.chip);
    const Model model(instance.einsum, instance.chip, instance.options, instance.space.reuse);
    const Space space(instance.einsum, instance.chip, instance.space, model.shape());
    const BruteForce expected = Everything(instance, model).run();
    const BruteForce found = testing::brute_force(model, space);
    mappings += expected.mappings;
    ++(expected.empty() ? empty : seen);
    ASSERT_EQ(found.least_energy.size(), expected.least_energy.size()) << "seed " << seed << "\n" << describe(instance);
    for (auto a = found.least_energy.begin(), b = expected.least_energy.begin(); a != found.least_energy.end();
         ++a, ++b) {
      ASSERT_EQ(a->first, b->first) << "seed " << seed << "\n" << describe(instance);
      ASSERT_NEAR(a->second, b->second, testing::kRounding * b->second) << "seed " << seed << "\n"
                                                                        << describe(instance);
    }
  }
  EXPECT_GT(empty, 0);
  RecordProperty("mappings", std::to_string(mappings));
}

}  // namespace
}  // namespace orrery::nest
