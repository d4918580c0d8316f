// docs/model/plans.md says of the catalogue's software what the catalogue says.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/stacks.h"

namespace orrery::verbs {
namespace {

TEST(PlansPage, SaysWhatEachSoftwareRuns) {
  std::ostringstream page;
  page << std::ifstream(ORRERY_SOURCE_DIR "/docs/model/plans.md").rdbuf();
  for (const cluster::Feature& feature : cluster::features()) {
    std::string row = fmt::format("| `{}` | {} |", feature.name, feature.text);
    std::string of_kin = fmt::format("| `{}` |", feature.name);
    for (const auto& [name, stack] : cluster::stacks()) {
      const cluster::Stack known = formats::orrery::load_stack(ORRERY_SOURCE_DIR "/catalog", name).stack;
      (cluster::kin(stack) == stack ? row : of_kin) +=
          (known.lacks & cluster::feature(feature.name)) == 0 ? " yes |" : " no |";
    }
    EXPECT_NE(page.str().find(row + "\n"), std::string::npos) << "the page lacks:\n" << row;
    EXPECT_NE(page.str().find(of_kin + "\n"), std::string::npos) << "the page lacks:\n" << of_kin;
  }
}

}  // namespace
}  // namespace orrery::verbs
