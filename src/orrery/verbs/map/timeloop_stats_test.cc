#include "orrery/formats/timeloop/documents/stats_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/inputs/layers/read_layers.h"
#include "orrery/verbs/map/example_layer_test_util.h"
#include "orrery/verbs/map/loop_nest_text.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = base::kShared / "goldens/nest";

MappedLayer evaluate_golden(const fs::path& folder, const fs::path& mapping) {
  std::vector<std::shared_ptr<const base::SourceFile>> files;
  for (const fs::path& path : {folder / "input.yaml", folder / "ERT.yaml", folder / "ART.yaml", mapping})
    files.push_back(formats::yaml::read_file(path.string()));
  const auto documents = formats::timeloop::Documents::gather(files, {});
  Estimators estimators({});
  const ReadMapping read = verbs::read_mapping(documents, estimators);
  return verbs::evaluate_layer(read.question, read.mapping, read.places, nest::ModelOptions::timeloop(), false);
}

// Folders of the goldens that hold a mapping and its statistics.
std::vector<fs::path> golden_cases() {
  std::vector<fs::path> cases;
  std::error_code missing;
  for (const auto& entry : fs::recursive_directory_iterator(kGoldens, missing))
    if (entry.path().filename() == "stats.txt" && fs::exists(entry.path().parent_path() / "map.yaml"))
      cases.push_back(entry.path().parent_path());
  std::sort(cases.begin(), cases.end());
  return cases;
}

// The first line that differs, for a message one can read.
std::string difference(const std::string& expected, const std::string& actual) {
  std::istringstream a(expected), b(actual);
  std::string left, right, context;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(a, left)),
               more_right = static_cast<bool>(std::getline(b, right));
    if (!more_left && !more_right) return "";
    if (more_left && left.find("===") == 0) context = left;
    if (!more_left || !more_right || left != right)
      return "line " + std::to_string(line) + " " + context + "\n  golden: " + (more_left ? left : "(end)") +
             "\n  ours:   " + (more_right ? right : "(end)");
  }
}

TEST(TimeloopStats, ReproducesEveryGoldenByteForByte) {
  const std::vector<fs::path> cases = golden_cases();
  ORRERY_NEEDS_SHARED();
  for (const fs::path& folder : cases) {
    SCOPED_TRACE(folder.string());
    const MappedLayer layer = evaluate_golden(folder, folder / "map.yaml");
    const std::string stats = formats::timeloop::stats_text(layer.einsum, layer.chip, layer.optimum.evaluation, true);
    EXPECT_EQ(difference(base::contents(folder / "stats.txt"), stats), "");
  }
}

TEST(MapTxt, ReproducesEveryGoldenByteForByte) {
  const std::vector<fs::path> cases = golden_cases();
  ORRERY_NEEDS_SHARED();
  for (const fs::path& folder : cases) {
    if (!fs::exists(folder / "map.txt")) continue;
    SCOPED_TRACE(folder.string());
    const MappedLayer layer = evaluate_golden(folder, folder / "map.yaml");
    EXPECT_EQ(map_text(layer.einsum, layer.chip, *layer.optimum.mapping, layer.optimum.evaluation),
              base::contents(folder / "map.txt"));
  }
}

TEST(TimeloopStats, ScrapedLinesStandAtTheStartOfALine) {
  const MappedLayer layer = example_layer();
  const std::string stats = formats::timeloop::stats_text(layer.einsum, layer.chip, layer.optimum.evaluation, false);
  for (const char* line : {"\nEnergy: ", "\nCycles: ", "\nUtilization: ", "\nEDP(J*cycle): ", "\nArea: "})
    EXPECT_NE(stats.find(line), std::string::npos) << line;
}

TEST(TimeloopStats, GivesTheAreaThatTheOriginalLoses) {
  MappedLayer layer = example_layer();
  layer.chip.storages[0].area_um2 = 2.5e6;
  layer.chip.compute.area_um2 = 1e6;
  EXPECT_NE(
      formats::timeloop::stats_text(layer.einsum, layer.chip, layer.optimum.evaluation, false).find("Area: 6.50 mm^2"),
      std::string::npos);
  EXPECT_NE(
      formats::timeloop::stats_text(layer.einsum, layer.chip, layer.optimum.evaluation, true).find("Area: 0.00 mm^2"),
      std::string::npos);
}

TEST(TimeloopStats, HidesAStorageWithoutTrafficAndEnergy) {
  MappedLayer layer = example_layer();
  nest::StorageCost& cost = layer.optimum.evaluation.storages[0];
  cost.energy_pj = 0;
  for (nest::DataspaceCost& dataspace : cost.dataspaces) dataspace = {};
  const std::string stats = formats::timeloop::stats_text(layer.einsum, layer.chip, layer.optimum.evaluation, false);
  EXPECT_EQ(stats.find("Level 1\n"), std::string::npos);
  EXPECT_NE(stats.find("Level 2\n"), std::string::npos) << "the others keep their numbers";
}

}  // namespace
}  // namespace orrery::verbs
