#include <gtest/gtest.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {
namespace {

TuneSelectRequest request_of(base::Count batch, base::Count length, const std::string& system) {
  TuneSelectRequest out;
  out.modelled.emplace();
  out.modelled->layer.width = 1024;
  out.modelled->layer.heads = 16;
  out.modelled->layer.batch = batch;
  out.modelled->layer.seq = length;
  out.system = out.modelled->system = system;
  return out;
}

TEST(TuneSelectModelled, IsProvenOnEachMachineAndNoModeOrOtherLayoutIsBelow) {
  for (const char* const system : {"v100-dgx1", "epyc-zen5-2c"}) {
    TuneSelectRequest request = request_of(8, 512, system);
    request.why = {"X=ibj", "LN1=jbi"};
    request.relayout = true;
    const TunedSelection found = tune_select(request);
    ASSERT_TRUE(found.certificate.optimal) << system;
    ASSERT_TRUE(found.selection) << system;
    EXPECT_GE(found.selection->time, found.without_layouts);
    for (const SelectMode& mode : found.modes)
      if (mode.outcome.selection) {
        EXPECT_GE(mode.outcome.selection->time, found.selection->time) << system << " " << mode.name;
      }
    for (const Alternative& one : found.why) {
      ASSERT_TRUE(one.selection && one.proven) << system << " " << one.asked;
      EXPECT_GE(one.selection->time, found.selection->time) << system << " " << one.asked;
    }
    ASSERT_TRUE(found.conversions && found.conversions->proven) << system;
    EXPECT_LE(found.conversions->selection->time, found.selection->time) << system;
  }
}

// Every tensor's layout and every contraction's of the configuration that Substation ships exists here, at its size and
// at the other published one.
TEST(TuneSelectModelled, TakesSubstationsConfigurationAsAPoint) {
  ORRERY_NEEDS_SHARED();
  for (const auto& [batch, length] : {std::pair(8, 512), {96, 128}}) {
    TuneSelectRequest request = request_of(batch, length, "v100-dgx1");
    request.modes = {"bp_first"};
    request.evaluate = (base::kShared / "goldens/layer/layouts-bert-b8-l512-h16-e1024.json").string();
    const TunedSelection found = tune_select(request);
    ASSERT_TRUE(found.selection && found.evaluated && found.evaluated->selection);
    EXPECT_TRUE(found.evaluated->proven);
    EXPECT_GE(found.evaluated->selection->time, found.selection->time);
    EXPECT_LT(found.evaluated->selection->time, 2 * found.selection->time);
  }
}

}  // namespace
}  // namespace orrery::verbs
