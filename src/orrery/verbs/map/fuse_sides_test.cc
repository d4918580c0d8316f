#include "orrery/verbs/map/fuse_sides.h"

#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/inputs/layers/layer_question_test_util.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {
namespace {

// Dimensions and dataspaces of workload::matmul.
int dimension(const workload::Einsum& einsum, const char* name) {
  return einsum.dimension_index(name);
}

const nest::LevelMapping& outermost(const MappedLayer& layer) {
  return layer.optimum.mapping->levels.back();
}

MappedLayer mapped(LayerQuestion question, const FuseSides& fuse) {
  fuse_side(fuse, question);
  return map_layers({question}, {}).layers.at(0);
}

// Everything lies in DRAM.
LayerQuestion small(base::Count m, base::Count k, base::Count n) {
  LayerQuestion question = testing::product("P", std::make_shared<const machine::Chip>(testing::small_chip()), m, k, n);
  for (int s = 0; s < 3; ++s) {
    nest::Constraint keep;
    keep.kind = nest::Constraint::Kind::kKeep;
    keep.level = 1;
    keep.dataspace = s;
    question.space.constraints.push_back(keep);
  }
  return question;
}

TEST(FuseSides, AProductLeavesItsLevelInWholeColumnsAndPassesTheRestBy) {
  const MappedLayer layer = mapped(small(4, 4, 16), {.level = "Buffer"});
  ASSERT_TRUE(layer.found());
  const workload::Einsum& einsum = layer.einsum;
  EXPECT_EQ(outermost(layer).temporal[dimension(einsum, "D")], 1);
  EXPECT_EQ(outermost(layer).temporal[dimension(einsum, "E")], 1);
  EXPECT_GT(outermost(layer).temporal[dimension(einsum, "L")], 1);
  EXPECT_EQ(outermost(layer).keep >> einsum.dataspace_index("Outputs") & 1, 0u);
}

TEST(FuseSides, EachOptionChangesWhatItSays) {
  const auto outer = [&](const FuseSides& fuse, const char* name) {
    const MappedLayer layer = mapped(small(2, 2, 4), fuse);
    EXPECT_TRUE(layer.found());
    return layer.found() ? outermost(layer).temporal[dimension(layer.einsum, name)] : 0;
  };
  EXPECT_EQ(outer({.level = "Buffer", .whole = true}, "L"), 1);
  const MappedLayer writes = mapped(small(4, 4, 16), {.level = "Buffer", .product_writes = true});
  ASSERT_TRUE(writes.found());
  EXPECT_EQ(outermost(writes).keep >> writes.einsum.dataspace_index("Outputs") & 1, 1u);
}

// Constraints only take mappings away, and each option of the seed gives some back or takes more.
TEST(FuseSides, LessFreedomIsNeverBetter) {
  for (base::Count n : {4, 8, 16}) {
    const auto edp = [&](const FuseSides& fuse) {
      const MappedLayer layer = mapped(small(4, 4, n), fuse);
      return layer.found() ? layer.optimum.evaluation.energy_pj * static_cast<double>(layer.optimum.evaluation.cycles)
                           : std::numeric_limits<double>::infinity();
    };
    const double free = edp({});
    const double writes = edp({.level = "Buffer", .product_writes = true});
    EXPECT_LE(free, writes * (1 + 1e-12));
    EXPECT_LE(edp({.level = "Buffer", .reduction_free = true, .product_writes = true}), writes * (1 + 1e-12));
    EXPECT_GE(edp({.level = "Buffer", .whole = true, .product_writes = true}), writes * (1 - 1e-12));
  }
}

TEST(FuseSides, WhatCannotBeFusedIsRefused) {
  EXPECT_EQ(base::codes_of([] { mapped(small(4, 4, 4), {.level = "Bufer"}); }), base::Codes{"O2029"});
  EXPECT_EQ(base::codes_of([] { mapped(small(4, 4, 4), {.level = "DRAM"}); }), base::Codes{"O2029"});
  LayerQuestion question = small(4, 4, 4);
  question.einsum.dataspaces.pop_back();
  EXPECT_EQ(base::codes_of([&] { mapped(question, {.level = "Buffer"}); }), base::Codes{"O2030"});
}

MapRequest golden(const char* chip, const char* layer, const char* level) {
  MapRequest request;
  request.chips = {chip};
  request.model = "bert-large";
  request.sequence = 4096;
  request.layer = layer;
  request.fuse.level = level;
  EXPECT_TRUE(base::reproduce(nest::kModelDefects, "timeloop", request.compat));
  request.search.model = request.compat.defects;
  return request;
}

// Figures of goldens/nest/pim/KTQ_largefused_shared_glb: a complete search by Timeloop of what the seed's script wrote.
TEST(FuseSides, TheSeedsProductFusedAtTheSharedBufferIsReproduced) {
  const MapAnswer answer = map(golden("pim", "KTQ", "shared_glb"));
  const nest::Evaluation& evaluation = answer.mapped.layers.at(0).optimum.evaluation;
  EXPECT_EQ(evaluation.cycles, 1048576);
  EXPECT_NEAR(evaluation.energy_pj / 1e6, 138752.42, 0.005);
}

// goldens/nest/gemmini/Out_largefused_Accumulator: 1024 x 1024 weights do not fit 524288 words.
TEST(FuseSides, TheSeedsInfeasiblePairIsInfeasible) {
  const MapAnswer answer = map(golden("gemmini", "Out", "Accumulator"));
  EXPECT_TRUE(answer.mapped.layers.at(0).optimum.infeasible);
  ASSERT_FALSE(answer.mapped.layers.at(0).optimum.arithmetic.empty());
  EXPECT_NE(answer.mapped.layers.at(0).optimum.arithmetic[0].find("1048576"), std::string::npos);
}

}  // namespace
}  // namespace orrery::verbs
