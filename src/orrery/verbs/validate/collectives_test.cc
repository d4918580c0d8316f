#include "orrery/verbs/validate/collectives.h"

#include <gtest/gtest.h>

#include <filesystem>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/orrery/systems.h"

namespace orrery::verbs {
namespace {

const std::string kCollectivesDirectory = ORRERY_SOURCE_DIR "/catalog";

const std::vector<ValidatedCollectives>& all() {
  static const std::vector<ValidatedCollectives> sets = validate_collectives(kCollectivesDirectory);
  return sets;
}

TEST(MeasuredCollectives, ARowIsTimedAsTheSameCollectiveOfATrainingRun) {
  std::size_t rows = 0;
  for (const ValidatedCollectives& set : all())
    for (const ValidatedCollective& point : set.points) {
      collective::Fabric fabric = formats::orrery::load_system(kCollectivesDirectory, point.system).system.fabric;
      if (point.algorithm == "ring") fabric.levels[0].in_network_reduction = false;
      EXPECT_EQ(point.predicted_s,
                collective::seconds(point.operation, fabric, collective::place(fabric, point.ranks, 1), point.bytes));
      EXPECT_DOUBLE_EQ(point.error, point.predicted_s / point.measured_s - 1);
      ++rows;
    }
  EXPECT_EQ(rows, 186u);
}

TEST(MeasuredCollectives, LargeOnesInsideANodeThatNoConstantHasSeenAreWithinATenth) {
  std::size_t rows = 0;
  for (const ValidatedCollectives& set : all())
    for (const ValidatedCollective& point : set.points) {
      if (point.use != Use::kHeldOut || point.ranks > 8 || point.bytes < 16 * kLargeBytes) continue;
      if (point.system == "dgx-h100") continue;  // its constants are those of runs that did not let the switch add
      EXPECT_LT(std::abs(point.error), 0.12) << point.system << ' ' << point.ranks << ' ' << point.bytes;
      ++rows;
    }
  EXPECT_GE(rows, 15u);
}

TEST(MeasuredCollectives, AcrossNodesOfH100NetworksAreBusyAtOnce) {
  std::size_t rows = 0;
  for (const ValidatedCollectives& set : all())
    for (const ValidatedCollective& point : set.points) {
      if (point.system != "dgx-h100" || point.ranks <= 8) continue;
      EXPECT_LT(std::abs(point.error), 0.1) << point.ranks << ' ' << point.bytes;
      ++rows;
    }
  EXPECT_GE(rows, 5u);
}

TEST(MeasuredCollectives, ATableThatSaysSomethingElseIsRefusedWithThePlace) {
  const std::string table =
      "# title: t\n# source: s\n# licence: l\nsystem,use,operation,ranks,bytes,seconds,algorithm,note\n";
  const auto refused = [&](const std::string& row) {
    const base::Folder folder;
    folder.write("collectives/one.csv", table + row + "\n");
    return base::refused([&] { validate_collectives(folder.path().string()); });
  };
  const auto unknown = refused("dgx-h10,held-out,all-reduce,8,1024,1e-3,,");
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_EQ(unknown[0].code, "O1350");
  EXPECT_EQ(unknown[0].primary.where.line, 5) << "a system that there is not is of a row, too";
  for (const char* row : {"dgx-h100,seen,all-reduce,8,1024,1e-3,,", "dgx-h100,held-out,allreduce,8,1024,1e-3,,",
                          "dgx-h100,held-out,all-reduce,1,1024,1e-3,,", "dgx-h100,held-out,all-reduce,8,0,1e-3,,",
                          "dgx-h100,held-out,all-reduce,8,1024,-1,,", "dgx-h100,held-out,all-reduce,8,1024,fast,,",
                          "dgx-h100,held-out,all-reduce,8,1024"}) {
    const auto errors = refused(row);
    ASSERT_EQ(errors.size(), 1u) << row;
    EXPECT_EQ(errors[0].code, "O1358") << row;
    EXPECT_EQ(errors[0].primary.where.line, 5) << row;
  }
}

}  // namespace
}  // namespace orrery::verbs
