#include "orrery/verbs/map/infeasible_text.h"

#include <gtest/gtest.h>

#include "orrery/present/diagnostic_text.h"
#include "orrery/verbs/map/example_layer_test_util.h"

namespace orrery::verbs {
namespace {

TEST(Infeasible, PointsAtEachConflictingLineAndShowsTheArithmetic) {
  const std::string text = diagnostic_text(explain_no_mapping(infeasible_layer()));
  EXPECT_NE(text.find("error[O1001]: no mapping of `impossible`"), std::string::npos) << text;
  EXPECT_NE(text.find("--> c.yaml:2:10"), std::string::npos) << text;
  EXPECT_NE(text.find("::: c.yaml:3:1"), std::string::npos) << text;
  EXPECT_NE(text.find("note: 16 > 8"), std::string::npos) << text;
}

TEST(Infeasible, ASearchThatRanOutOfTimeProvesNothing) {
  MappedLayer layer = infeasible_layer();
  layer.optimum.infeasible = false;
  const base::Diagnostic diagnostic = explain_no_mapping(layer);
  EXPECT_EQ(diagnostic.code, "O1002");
  EXPECT_NE(diagnostic.hints.at(0).find("--time-limit"), std::string::npos);
}

TEST(Infeasible, NamesTheChoiceThatWasForced) {
  MappedLayer layer = example_layer();
  layer.forced = Forced{"PERows.D=16", infeasible_layer().optimum};
  const base::Diagnostic diagnostic = explain_no_forced_mapping(layer);
  EXPECT_EQ(diagnostic.code, "O1001");
  EXPECT_NE(diagnostic.message.find("`small` with `PERows.D=16`"), std::string::npos) << diagnostic.message;
}

}  // namespace
}  // namespace orrery::verbs
