#include "orrery/verbs/sparse/simulate/array_beside.h"

#include <gtest/gtest.h>

#include "orrery/engines/masks/packing/latency.h"

namespace orrery::verbs {
namespace {

TEST(ArrayBeside, WithProjectionsTheModelsAreThePublishedOnes) {
  for (const base::Count tokens : {128, 512})
    for (const double density : {0.05, 0.27, 1.0})
      for (const double balance : {0.3, 0.85}) {
        LatencyShape shape;
        shape.queries = shape.keys = tokens;
        shape.matrices = 12;
        shape.density = density, shape.load_balance = balance;
        const std::optional<WholeLayer> whole = whole_layer(shape);
        ASSERT_TRUE(whole.has_value());
        const masks::LatencyQuestion question{tokens, density, balance};
        const double projections = whole->projections_ms + whole->output_as_pruned_ms;
        EXPECT_NEAR(v1_core_ms(shape) + projections, masks::latency_v1_ms(question), 1e-12);
        EXPECT_NEAR(v2_core_ms(shape) + projections, masks::latency_v2_ms(question), 1e-12);
      }
}

TEST(ArrayBeside, OtherArraysHaveTheirOwnPeakAndNoPublishedLayer) {
  LatencyShape shape;
  shape.matrices = 12, shape.density = 0.1, shape.load_balance = 0.5;
  const double published = v1_core_ms(shape);
  shape.rows = 128;
  EXPECT_DOUBLE_EQ(v1_core_ms(shape), published / 2);
  EXPECT_FALSE(whole_layer(shape).has_value());
  shape.rows = 64, shape.matrices = 24;  // two sequences
  EXPECT_DOUBLE_EQ(v1_core_ms(shape), 2 * published);
  EXPECT_DOUBLE_EQ(whole_layer(shape)->output_ms, 2 * 0.294912);
  shape.load_balance = 0;  // a mask that keeps nothing
  EXPECT_EQ(v1_core_ms(shape), 0);
  EXPECT_EQ(v2_core_ms(shape), 0);
}

}  // namespace
}  // namespace orrery::verbs
