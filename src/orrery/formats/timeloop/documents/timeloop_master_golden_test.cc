// Timeloop's master on 70 mappings: every count of every storage, cycles and energy, with its link transfers and
// without.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;
using json::Node;

const fs::path kMappings = base::kShared / "goldens/nest/timeloop_master/mappings";

const Node& at(const Node& node, const std::string& key) {
  return node.find(key)->value;
}

// "" or what differs first.
std::string difference(const Node& expected, const Specification& read, const nest::Evaluation& got) {
  if (static_cast<double>(got.cycles) != at(expected, "cycles").number)
    return fmt::format("cycles: {}, not {}", got.cycles, at(expected, "cycles").number);
  const std::string printed = fmt::format("{:.2f}", got.energy_pj / 1e6);
  if (printed != fmt::format("{:.2f}", at(expected, "energy").number))
    return fmt::format("uJ: {}, not {}", printed, at(expected, "energy").number);
  for (const auto& level : at(expected, "levels").members) {
    const int i = read.chip->storage_index(level.key);
    if (i < 0) return fmt::format("no storage is called {}", level.key);
    for (const auto& dataspace : level.value.members) {
      const nest::DataspaceCost& cost = got.storages[i].dataspaces[read.problem->einsum.dataspace_index(dataspace.key)];
      for (const auto& [what, count] : {std::pair{"Scalar reads", cost.reads}, std::pair{"Scalar fills", cost.fills},
                                        std::pair{"Scalar updates", cost.updates}})
        if (static_cast<double>(count) != at(dataspace.value, what).number)
          return fmt::format("{} {}, {}: {}, not {}", level.key, dataspace.key, what, count,
                             at(dataspace.value, what).number);
    }
  }
  return {};
}

nest::Evaluation evaluated(const Specification& read, bool links) {
  nest::ModelOptions options = nest::ModelOptions::timeloop();
  options.link_transfers = links;
  return nest::evaluate(read.problem->einsum, *read.chip, *read.mapping, options, read.problem->space.reuse);
}

TEST(TimeloopMaster, SaysTheSameOfEveryMappingWithItsLinkTransfersAndWithout) {
  ORRERY_NEEDS_SHARED();
  int cases = 0, linked = 0;
  for (const auto& folder : fs::directory_iterator(kMappings)) {
    SCOPED_TRACE(folder.path().filename().string());
    const Node said = json::parse(yaml::read_file((folder.path() / "expected.json").string()), "O0103");
    const Specification read = Documents::gather({yaml::read_file((folder.path() / "input.yaml").string())}, {}).read();
    ASSERT_TRUE(read.mapping);
    EXPECT_EQ(difference(at(said, "timeloop"), read, evaluated(read, true)), "");
    const Node& without = at(said, "timeloop_without_link_transfers");
    EXPECT_EQ(difference(without.is_null() ? at(said, "timeloop") : without, read, evaluated(read, false)), "");
    ++cases, linked += !without.is_null();
  }
  EXPECT_EQ(cases, 70);
  EXPECT_GE(linked, 15);
}

}  // namespace
}  // namespace orrery::formats::timeloop
