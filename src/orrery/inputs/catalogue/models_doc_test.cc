// docs/models.md lists every type that is understood, and its figures are those of the models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/grouped.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

// The cells of the table of types, row by row.
std::vector<std::vector<std::string>> rows() {
  std::vector<std::vector<std::string>> out;
  std::ifstream page(ORRERY_SOURCE_DIR "/docs/models.md");
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = line.find('|'), next = 0; at != std::string::npos; at = next) {
      next = line.find('|', at + 1);
      if (next == std::string::npos) break;
      std::string cell = line.substr(at + 1, next - at - 1);
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    if (cells.size() == 6 && cells[0].starts_with('`') && cells[0] != "`model_type`") out.push_back(cells);
  }
  return out;
}

TEST(ModelsPage, ListsEveryTypeThatIsUnderstoodOnce) {
  std::vector<std::string> listed;
  const std::regex name("`([-a-z_0-9]+)`");
  for (const auto& cells : rows())
    for (std::sregex_iterator at(cells[0].begin(), cells[0].end(), name), end; at != end; ++at)
      listed.push_back((*at)[1]);
  std::vector<std::string> known = formats::huggingface::model_types();
  std::sort(listed.begin(), listed.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(listed, known);
}

TEST(ModelsPage, ItsFiguresAreTheModels) {
  ORRERY_NEEDS_SHARED();
  int models = 0;
  for (const auto& cells : rows()) {
    if (cells[3].empty()) continue;
    SCOPED_TRACE(cells[3]);
    const auto path = base::kShared / "goldens" / "models" / cells[3] / "config.json";
    const ModelUse use = {{}, formats::huggingface::Outside::kPassed};
    const workload::Transformer model = load_model("", path.string(), use).transformer;
    EXPECT_EQ(cells[4], base::grouped(static_cast<double>(workload::parameters(model).total)));
    const std::size_t of = cells[5].find(" of ");
    const base::Count seq = of == std::string::npos ? 4096 : std::stol(cells[5].substr(of + 4));
    const workload::ForwardFlop flop = workload::forward_flop(model, seq);
    EXPECT_EQ(cells[5].substr(0, of),
              fmt::format("{:.4g} G", (flop.products + flop.attention) / static_cast<double>(flop.tokens) / 1e9));
    ++models;
  }
  EXPECT_GE(models, 30);
}

}  // namespace
}  // namespace orrery::verbs
