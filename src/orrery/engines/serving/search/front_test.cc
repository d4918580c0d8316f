#include "orrery/engines/serving/search/front.h"

#include <gtest/gtest.h>

#include "orrery/engines/serving/model/served_roofline.h"
#include "orrery/engines/serving/model/serving_test_util.h"

namespace orrery::serving {
namespace {

TEST(ServingFront, HasWhatNoDeploymentBettersInBoth) {
  const cluster::System system = test_system();
  const ServedRoofline operators(system.accelerator);
  const ServedModel model = test_model();
  Space space;
  space.machines = {{&system, &operators, 8}};
  space.tp = {1, 2, 4, 8};
  space.replicas = {1, 2};
  Load load;
  load.prompt = Lengths::constant(1000), load.output = Lengths::constant(200);
  const ServiceLimits limits{0.9, std::nullopt};
  const Front found = front(model, space, limits, load, base::Budget(), 1);
  ASSERT_GT(found.points.size(), 3U);
  EXPECT_TRUE(found.finished);
  for (std::size_t i = 1; i < found.points.size(); ++i) {
    EXPECT_LT(found.points[i - 1].service.tpot, found.points[i].service.tpot);
    EXPECT_LT(found.points[i - 1].service.per_accelerator, found.points[i].service.per_accelerator);
  }
  for (const base::Count tp : space.tp)
    for (const base::Count replicas : space.replicas)
      for (double users = 1; users <= 256; users *= 2) {
        if (tp * replicas > 8) continue;
        load.concurrency = users * static_cast<double>(replicas);
        const Service s = evaluate(model, system, {.replicas = replicas, .tp = tp}, load, operators);
        if (!limits.allow(s, {})) continue;
        for (const Found& point : found.points)
          EXPECT_FALSE(s.tpot < point.service.tpot && s.per_accelerator > point.service.per_accelerator)
              << tp << " x " << replicas << ", " << users << " users";
        EXPECT_TRUE(std::any_of(found.points.begin(), found.points.end(),
                                [&](const Found& point) {
                                  return point.service.tpot <= s.tpot &&
                                         point.service.per_accelerator >= s.per_accelerator;
                                }))
            << tp << " x " << replicas << ", " << users << " users";
      }
}

}  // namespace
}  // namespace orrery::serving
