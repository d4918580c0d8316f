// docs/compatibility.md lists every named defect, and no other.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <regex>
#include <set>

#include <source_dir.h>

#include "orrery/describe/energy/energy_options.h"
#include "orrery/engines/amped/quantities.h"
#include "orrery/engines/dataflow/model/defects.h"
#include "orrery/engines/masks/measure.h"
#include "orrery/engines/nest/model/model_options.h"

namespace orrery::verbs {
namespace {

std::set<std::string> known_names() {
  std::set<std::string> names;
  const auto add = [&](const auto& table) {
    for (const auto& defect : table) {
      names.emplace(defect.name);
      EXPECT_FALSE(defect.text.empty()) << defect.name;
      EXPECT_FALSE(defect.originals.empty()) << defect.name;
    }
  };
  add(nest::kModelDefects);
  add(energy::kDefects);
  add(amped::kDefects);
  add(dataflow::kDefects);
  add(masks::kMeasureDefects);
  return names;
}

// The names in parentheses at the end of the first cell of every row that is no gap.
std::set<std::string> listed_names() {
  std::set<std::string> names;
  std::ifstream page(ORRERY_SOURCE_DIR "/docs/compatibility.md");
  const std::regex row(R"(\| [^|]*\((`[a-z_0-9]+`(?:, `[a-z_0-9]+`)*)\) \| (?!gap).*)"), name("`([a-z_0-9]+)`");
  for (std::string line; std::getline(page, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    const std::string list = cells[1];
    for (std::sregex_iterator at(list.begin(), list.end(), name), end; at != end; ++at) names.insert((*at)[1]);
  }
  return names;
}

TEST(CompatibilityPage, ListsTheNamedDefects) {
  EXPECT_EQ(listed_names(), known_names());
}

TEST(CompatibilityPage, OriginalsAreSetsOfThem) {
  EXPECT_EQ(base::original_names(nest::kModelDefects), (std::vector<std::string>{"timeloop", "factorflow"}));
  EXPECT_EQ(base::original_names(energy::kDefects), std::vector<std::string>{"accelergy-0.4"});
  EXPECT_EQ(base::original_names(amped::kDefects), std::vector<std::string>{"amped"});
  EXPECT_EQ(base::original_names(dataflow::kDefects),
            (std::vector<std::string>{"gen1", "gen2", "gen3", "gen4", "head"}));
}

}  // namespace
}  // namespace orrery::verbs
