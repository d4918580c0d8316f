#include "orrery/inputs/layers/forced_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::verbs {
namespace {

using nest::Comparison;
using nest::Constraint;

// Innermost first: Registers, the fan-out of PERows, Scratchpad.
machine::Chip three_levels() {
  machine::Chip out;
  out.storages.resize(3);
  out.storages[0].name = "Registers";
  out.storages[1].name = "inter_PERows_spatial";
  out.storages[1].pass_through = true;
  out.storages[2].name = "Scratchpad";
  return out;
}

Constraint choice_of(const std::string& text) {
  return forced_choice(text, workload::matmul("product", 8, 8, 8), three_levels());
}

base::Diagnostic refused_choice(const std::string& text) {
  return base::refused([&] { choice_of(text); }).at(0);
}

TEST(ForcedChoice, AFactorIsTemporalAtAStorageAndSpatialAtAContainer) {
  const Constraint temporal = choice_of("Scratchpad.E=4");
  EXPECT_EQ(temporal.kind, Constraint::Kind::kFactor);
  EXPECT_EQ(temporal.level, 2);
  EXPECT_FALSE(temporal.spatial);
  EXPECT_EQ(temporal.value, 4);
  EXPECT_EQ(temporal.dimension, workload::matmul("product", 8, 8, 8).dimension_index("E"));
  for (const char* text : {"PERows.D=8", "inter_PERows_spatial.D=8"}) {
    EXPECT_EQ(choice_of(text).level, 1) << text;
    EXPECT_TRUE(choice_of(text).spatial) << text;
  }
  EXPECT_TRUE(choice_of("Scratchpad.spatial.D=8").spatial);
  EXPECT_FALSE(choice_of("PERows.temporal.D=8").spatial);
}

TEST(ForcedChoice, ComparisonsAllowTheValueItself) {
  EXPECT_EQ(choice_of("Scratchpad.E=4").comparison, Comparison::kEqual);
  EXPECT_EQ(choice_of("Scratchpad.E<=4").comparison, Comparison::kAtMost);
  EXPECT_EQ(choice_of("Scratchpad.E>=4").comparison, Comparison::kAtLeast);
}

TEST(ForcedChoice, ADataspaceIsKeptOrBypassed) {
  const Constraint keep = choice_of("Scratchpad.keep=Inputs"), bypass = choice_of("Registers.bypass=Outputs");
  EXPECT_EQ(keep.kind, Constraint::Kind::kKeep);
  EXPECT_TRUE(keep.keep);
  EXPECT_EQ(keep.dataspace, 1);
  EXPECT_FALSE(bypass.keep);
  EXPECT_EQ(bypass.level, 0);
}

TEST(ForcedChoice, PointsAtTheChoiceSoThatAnEmptySpaceCanNameIt) {
  const Constraint choice = choice_of("Scratchpad.E=4");
  ASSERT_TRUE(choice.where.known());
  EXPECT_EQ(choice.where.file->text, "Scratchpad.E=4\n");
  EXPECT_EQ(choice.where.column, 1);
}

TEST(ForcedChoice, MisspeltNamesGetASuggestionAndACaret) {
  const auto expect = [](const std::string& text, int column, const std::string& hint) {
    const base::Diagnostic found = refused_choice(text);
    EXPECT_EQ(found.code, "O1116") << text;
    EXPECT_EQ(found.primary.where.column, column) << text;
    EXPECT_EQ(found.hints.at(0), hint) << text;
  };
  expect("Scratchpda.E=4", 1, "did you mean `Scratchpad`?");
  expect("PERow.E=4", 1, "did you mean `PERows`?");
  expect("Scratchpad.e=4", 12, "did you mean `E`?");
  expect("Scratchpad.keep=Input", 17, "did you mean `Inputs`?");
}

TEST(ForcedChoice, RefusesWhatIsNoChoice) {
  for (const char* text :
       {"", "=", "Scratchpad", "Scratchpad.E", "E=4", ".E=4", "Scratchpad.=4", "Scratchpad.E=", "Scratchpad.E=0",
        "Scratchpad.E=-4", "Scratchpad.E=4x", "Scratchpad.E=99999999999999999999", "Scratchpad.E<4", "Scratchpad.E>",
        "Scratchpad.keep<=Inputs", "Scratchpad.spatial.keep=Inputs"})
    EXPECT_EQ(refused_choice(text).code, "O1116") << text;
}

}  // namespace
}  // namespace orrery::verbs
