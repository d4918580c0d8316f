// The fast engine against the machine, a cycle at a time; closed forms; laws.
#include "orrery/array/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/array/machine_steps.h"
#include "orrery/array/random_run_test_util.h"
#include "orrery/array/run_plan.h"

namespace orrery::array {
namespace {

Simulation run_of(const RandomRun& random) {
  return simulate(random.instance, random.work);
}

TEST(Simulation, IsTheMachineToTheBitAndTheCycleOnRandomSizesMasksAndPredictions) {
  RandomRun random(1);
  Count compared = 0, blocks = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    random.draw();
    const base::Diagnostics found = faults(random.instance, sizes_of(random.work));
    ASSERT_FALSE(found.has_errors()) << found.all().front().message;
    const Simulation fast = run_of(random);
    const SteppedRun slow = stepped_run(random.instance, random.work);
    ASSERT_EQ(fast.cycles, slow.cycles) << trial;
    ASSERT_EQ(fast.blocks, slow.blocks) << trial;
    ASSERT_EQ(fast.outputs, slow.outputs) << trial;
    ASSERT_EQ(fast.busy, slow.busy) << trial;
    EXPECT_EQ(fast.saturated.outputs, slow.saturated.outputs);
    if (random.work.prediction) {
      ASSERT_EQ(*fast.predicted, *slow.predicted) << trial;
      EXPECT_EQ(fast.saturated.codes, slow.saturated.codes);
      EXPECT_EQ(fast.saturated.scores, slow.saturated.scores);
    }
    ++compared, blocks += fast.blocks;
  }
  EXPECT_GT(blocks, 5 * compared);
}

}  // namespace
}  // namespace orrery::array
