// What a fan-out does to windows, against positions listed one by one.
#include "orrery/engines/nest/search/tiles/tile_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "orrery/base/numbers/factor.h"
#include "orrery/engines/nest/model/random_nest_test_util.h"

namespace orrery::nest::tiles {
namespace {

using nest::testing::Dice;

constexpr int kInputs = 1;

workload::Einsum window(Count r, Count l, Count dilation, Count stride) {
  workload::Einsum einsum;
  einsum.name = "window";
  einsum.dimensions = {{"R", r}, {"L", l}};
  einsum.dataspaces = {{"Weights", {{{{0, 1}}}}, false},
                       {"Inputs", {{{{0, dilation}, {1, stride}}}}, false},
                       {"Outputs", {{{{1, 1}}}}, true}};
  return einsum;
}

// Of the inputs, when a fan-out of storage `level` spreads r and l.
double scatter(const workload::Einsum& einsum, int level, Count r, Count l) {
  machine::Chip chip;
  chip.storages.resize(2);
  chip.compute.instances = chip.compute.mesh_x = r * l;
  const Model model(einsum, chip);
  const Space space(einsum, chip, {}, model.shape());
  return fanout_of(*describe(model, space), level, {r, l}).scatter[kInputs];
}

TEST(Positions, AStrideTellsInstancesApartThatWouldShareWords) {
  EXPECT_EQ(scatter(window(3, 28, 1, 1), 0, 3, 28), 30);
  EXPECT_EQ(scatter(window(3, 28, 1, 2), 0, 3, 28), 57);
  EXPECT_EQ(scatter(window(3, 56, 1, 2), 1, 3, 28), 57) << "unless each spans 2 rows: then all differ";
  EXPECT_EQ(scatter(window(3, 56, 1, 2), 1, 1, 28), 28);
}

TEST(Positions, AreTheFewestOfAllThatInstancesMaySpan) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice = Dice::from_seed(seed);
    const Count r = dice.pick({2, 3, 4}), l = dice.pick({4, 6, 12}), dilation = dice(1, 3), stride = dice(1, 3);
    const auto some = [&](Count n) {
      const auto divisors = base::divisors(n);
      return divisors[dice(0, static_cast<Count>(divisors.size()) - 1)];
    };
    const Count spread_r = some(r), spread_l = some(l);
    double fewest = static_cast<double>(spread_r * spread_l);
    for (const Count e : base::divisors(r / spread_r))
      for (const Count f : base::divisors(l / spread_l)) {
        std::set<Count> positions;
        for (Count i = 0; i < spread_r; ++i)
          for (Count j = 0; j < spread_l; ++j) positions.insert(dilation * e * i + stride * f * j);
        fewest = std::min(fewest, static_cast<double>(positions.size()));
      }
    EXPECT_EQ(scatter(window(r, l, dilation, stride), 1, spread_r, spread_l), fewest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery::nest::tiles
