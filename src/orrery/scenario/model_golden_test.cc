// Real models' config.json against what their classes have: every model that is accepted has its parameters counted
// exactly; what is refused is refused by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "orrery/base/files_test_util.h"
#include "orrery/cluster/model.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/cluster_model.h"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = base::kShared / "goldens" / "models";

std::vector<std::map<std::string, std::string>> truth() {
  base::Diagnostics found;
  const auto table = formats::csv::parse(formats::yaml::read_file((kGoldens / "truth.csv").string()),
                                         formats::csv::Comments::kHash, found);
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 1; i < table.rows.size(); ++i)
    for (std::size_t c = 0; c < table.rows[i].cells.size() && c < table.rows[0].cells.size(); ++c) {
      if (c == 0) rows.emplace_back();
      rows.back()[table.rows[0].cells[c].text] = table.rows[i].cells[c].text;
    }
  return rows;
}

class ModelGoldens : public ::testing::Test {
 protected:
  void SetUp() override { ORRERY_NEEDS_SHARED(); }
};

TEST_F(ModelGoldens, EveryModelThatIsAcceptedWithoutAWordHasItsParametersExactly) {
  int accepted = 0;
  for (const auto& row : truth()) {
    SCOPED_TRACE(row.at("name"));
    try {
      const ModelFile file = load_model("", (kGoldens / row.at("file")).string());
      if (!file.diagnostics.all().empty()) continue;
      const cluster::Model model = cluster::completed(training_model(file.config));
      EXPECT_EQ(cluster::parameters(model), std::stod(row.at("parameters")));
      EXPECT_EQ(cluster::parameters(model, true), std::stod(row.at("active_parameters")));
      ++accepted;
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics)
        EXPECT_TRUE(diagnostic.code == "O0901" || diagnostic.code == "O0917") << diagnostic.message;
    }
  }
  EXPECT_GE(accepted, 9);
}

TEST_F(ModelGoldens, AShorterTrainingSequenceLeavesTheTableOfPositionsAsItIs) {
  const ModelFile file = load_model("", (kGoldens / "bert-large" / "config.json").string());
  const cluster::Model model = cluster::completed(training_model(file.config, {{"seq", "128"}}));
  EXPECT_EQ(cluster::parameters(model), 335174458);
}

}  // namespace
}  // namespace orrery::scenario
