// The table that Timeloop-Experiments published in May 2024 (hwdse_table_08-05-2024.txt), asked again.
//
// Its figures tell what was run. Cycles are 16 times a sum that ends in 2^25 + 8: scores, softmax and values of one
// head of BERT-large at 4,096 tokens (the softmax has 2^25 steps on one unit, each product adds 4 cycles of latency),
// times its heads. The array's files pinned no factors then, and DRAM had one port of 8 words a cycle. Each row is what
// a random search of Timeloop had found when 160 mappings in a row had brought nothing better; here it is the least
// EDP, proven. What the search found may be worse, never better.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/sweep/engines/map_engine.h"

namespace orrery::sweep {
namespace {

const auto kTable = base::kShared / "seeds/timeloop-experiments/transformer_gemmini/results/hwdse_table_08-05-2024.txt";

struct Row {
  base::Overrides config;
  std::map<std::string, double> metrics;
};

std::vector<Row> rows_of_table() {
  std::ifstream in(kTable);
  std::stringstream text;
  text << in.rdbuf();
  std::string all = text.str();
  all = all.substr(all.find("Tested configurations"));
  all = all.substr(0, all.find("---> Best"));
  std::vector<Row> out;
  const std::regex field("(\t?)(\\w+): ([\\w.]+)");
  for (std::sregex_iterator at(all.begin(), all.end(), field), end; at != end; ++at) {
    const std::string name = (*at)[2], value = (*at)[3];
    if (name == "scratchpad_size") out.emplace_back();
    if ((*at)[1].length() > 0)
      out.back().metrics[name] = std::stod(value);
    else
      out.back().config.push_back({"config." + name, value});
  }
  return out;
}

Request asked_in_may(const std::string&, const std::vector<std::string>&) {
  verbs::MapRequest request;
  request.chips = {"gemmini"};
  request.model = "bert-large";
  request.sequence = 4096;
  request.files = {"KTQ", "softmax", "VScores"};
  request.compat.defects = nest::ModelOptions::timeloop();
  request.compat.names = {"timeloop"};
  request.overrides = {{"arch.DRAM.read_bandwidth", "8"},
                       {"arch.DRAM.write_bandwidth", "8"},
                       {"arch.DRAM.shared_bandwidth", "8"},
                       {"arch.PERows.constraints.spatial.factors", "[E=1, L=1]"},
                       {"arch.PECols.constraints.spatial.factors", "[D=1, L=1]"},
                       {"arch.Registers.constraints.temporal", "{factors: [D=1, E=1]}"}};
  return request;
}

constexpr double kHeads = 16;

struct Sums {
  double energy = 0, cycles = 0, edp = 0;
};

TEST(PublishedTable, NoRowIsBetterThanItsOptimumAndRowsOfLittleChoiceRankAlike) {
  if (!std::filesystem::exists(kTable)) GTEST_SKIP() << "the published table is not at hand";
  const std::vector<Row> rows = rows_of_table();
  ASSERT_EQ(rows.size(), 15);
  EngineOptions options;
  options.pins = Pins::kScripts;
  for (const base::Override& set : rows[0].config) options.paths.push_back(set.path);
  MapEngine engine({}, asked_in_may, options);
  std::vector<base::Overrides> points;
  for (const Row& row : rows) points.push_back(row.config);
  std::map<std::string, store::Result> found;
  Batch batch = engine.evaluate(points, [](const std::string&) { return std::optional<store::Result>(); });
  for (store::Result& result : batch.fresh) found[result.key] = result;
  std::vector<Sums> ours, theirs;  // of the output-stationary rows
  int cycles_equal = 0, energy_equal = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(batch.points[i].outcome.status, store::Status::kOptimal) << batch.points[i].outcome.reason;
    Sums found_here;
    for (const Part& part : batch.points[i].parts) {
      const store::Figures& of = found[part.key].outcome.figures;
      found_here.energy += of[store::Figure::kEnergy];
      found_here.cycles += of[store::Figure::kCycles];
      found_here.edp += of[store::Figure::kEdp];
      EXPECT_EQ(part.instances, kHeads) << part.name;
    }
    const std::map<std::string, double>& table = rows[i].metrics;
    const Sums printed{table.at("energy") / kHeads, table.at("cycles") / kHeads, table.at("edp") / kHeads};
    const auto is = [&](const char* key, const char* value) {
      return std::any_of(rows[i].config.begin(), rows[i].config.end(),
                         [&](const base::Override& set) { return set.path == key && set.value == value; });
    };
    // The row of 32 x 16 has the softmax of an accumulator of 262,144 words (its EDP is 1.11e5); its configuration
    // makes 32 times 32,768, for which the files of then allow no mapping. It cannot have come from them.
    if (is("config.pe_rows", "32") && is("config.pe_cols", "16")) continue;
    EXPECT_LE(found_here.edp, printed.edp * 1.005) << i << ": three digits are printed";
    EXPECT_LE(found_here.cycles, printed.cycles) << i;
    cycles_equal += found_here.cycles == printed.cycles;
    energy_equal += std::abs(found_here.energy - printed.energy) < 0.03e6;  // 0.01 uJ are printed, of three layers
    if (is("config.dataflow", "OS")) ours.push_back(found_here), theirs.push_back(printed);
  }
  EXPECT_EQ(cycles_equal, 9);
  EXPECT_EQ(energy_equal, 2);
  ASSERT_EQ(ours.size(), 6);
  for (const auto figure : {&Sums::energy, &Sums::cycles, &Sums::edp})
    for (std::size_t a = 0; a < 6; ++a) {
      EXPECT_NEAR(ours[a].*figure / (theirs[a].*figure), 1, 0.012);
      for (std::size_t b = 0; b < 6; ++b)
        if (theirs[a].*figure < theirs[b].*figure) {
          EXPECT_LT(ours[a].*figure, ours[b].*figure) << a << " before " << b;
        }
    }
}

}  // namespace
}  // namespace orrery::sweep
