// docs/model/plans.md says of the catalogue's software what the catalogue says.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/engines/cluster/model/abilities.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/orrery/stacks.h"

namespace orrery::verbs {
namespace {

TEST(PlansPage, SaysWhatEachSoftwareRuns) {
  std::ostringstream page;
  page << std::ifstream(ORRERY_SOURCE_DIR "/docs/model/plans.md").rdbuf();
  for (const cluster::Ability& ability : cluster::abilities()) {
    std::string row = fmt::format("| `{}` | {} |", ability.name, ability.text);
    for (const auto& [name, stack] : cluster::stacks()) {
      const cluster::Stack known = formats::orrery::load_stack(ORRERY_SOURCE_DIR "/catalog", name).stack;
      row += (known.lacks & cluster::ability(ability.name)) == 0 ? " yes |" : " no |";
    }
    EXPECT_NE(page.str().find(row + "\n"), std::string::npos) << "the page lacks:\n" << row;
  }
}

}  // namespace
}  // namespace orrery::verbs
