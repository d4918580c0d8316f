#include "orrery/verbs/validate/served_runs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "orrery/base/text/text_file.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

class ServedRuns : public ::testing::Test {
 protected:
  static const std::vector<ServedSet>& sets() {
    static const std::vector<ServedSet> all = validate_serving(catalogue_directory());
    return all;
  }
};

// Written anew with ORRERY_ACCEPT=1, where constants or tables have changed.
TEST_F(ServedRuns, KindsOfTheCatalogueAreThoseOfItsTables) {
  const auto path = std::filesystem::path(catalogue_directory()) / "serving/expected/kinds.csv";
  const std::string now = served_kinds_text(served_kinds(sets()));
  if (std::getenv("ORRERY_ACCEPT") != nullptr) std::ofstream(path) << now;
  EXPECT_EQ(now, base::read_file(path.string())->text);
}

TEST_F(ServedRuns, EveryRowIsCounted) {
  for (const ServedSet& set : sets()) {
    std::size_t refused = 0;
    for (const auto& [why, count] : set.refused) refused += static_cast<std::size_t>(count);
    EXPECT_EQ(set.predicted() + refused, set.rows) << set.name;
    EXPECT_GE(set.points.size(), set.predicted()) << set.name;
    EXPECT_FALSE(set.published.empty()) << set.name;
  }
}

// Of every source of a kind that others measured as well, the runs are held to what the others alone say.
TEST_F(ServedRuns, TwoOfThreeRunsOfASourceThatIsLeftOutAreWithinTheExpectedError) {
  std::size_t inside = 0, runs = 0;
  for (std::size_t left_out = 0; left_out < sets().size(); ++left_out) {
    std::vector<ServedSet> others = sets();
    std::erase_if(others, [&](const ServedSet& set) { return set.measured_by() == sets()[left_out].measured_by(); });
    const std::vector<ServedKindError> kinds = served_kinds(others);
    for (const ServedPoint& point : sets()[left_out].points) {
      if (point.use != Use::kHeldOut) continue;
      const auto like = std::find_if(kinds.begin(), kinds.end(), [&](const ServedKindError& one) {
        return one.kind == point.kind && one.figure == point.figure && one.runs >= kLeastRuns;
      });
      if (like == kinds.end()) continue;
      ++runs;
      inside += std::abs(point.error) <= served_share(kinds, point.kind, point.figure, point.isl, point.osl).share;
    }
  }
  EXPECT_GT(runs, 500U);
  EXPECT_GT(static_cast<double>(inside), 2.0 / 3 * static_cast<double>(runs));
  RecordProperty("share", std::to_string(static_cast<double>(inside) / static_cast<double>(runs)));
}

TEST_F(ServedRuns, TimesAndThroughputsAreAsNearAsTheDocumentSays) {
  for (const ServedSet& set : sets()) {
    if (set.name == "aiconfigurator") {
      EXPECT_LT(set.held_out[0].median_absolute, 0.13);
      EXPECT_LT(set.held_out[1].median_absolute, 0.3);
    }
    if (set.name.starts_with("tensorrt_llm")) {
      EXPECT_LT(set.held_out[2].median_absolute, 0.2) << set.name;
    }
  }
}

TEST(ServedShare, IsWiderWhereNothingLikeItWasMeasured) {
  const ServedKind kind = {"vllm", "H100", 16, false};
  ServedKindError one = {kind, ServedFigure::kTpot, 40, 2, 0.1, {{1000, 4000}, {100, 1000}}};
  const auto share = [&](const ServedKind& of, double isl) {
    return served_share({one}, of, ServedFigure::kTpot, isl, 500);
  };
  EXPECT_EQ(share(kind, 2000).share, 0.1);
  EXPECT_TRUE(share(kind, 8000).alike);
  EXPECT_NEAR(share(kind, 32000).share, 0.2, 1e-12);
  EXPECT_FALSE(share(kind, 32000).alike);
  ServedKind other = kind;
  other.engine = "sglang";
  EXPECT_EQ(share(other, 2000).share, 0.1);
  EXPECT_FALSE(share(other, 2000).alike);
  other.accelerator = "B200";
  EXPECT_EQ(share(other, 2000).share, 0.2);
  one.runs = kLeastRuns - 1;
  EXPECT_EQ(share(kind, 2000).share, 1);
}

}  // namespace
}  // namespace orrery::verbs
