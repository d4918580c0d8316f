// Tables of full size: read at a rate of millions of lines, chosen from within seconds, with a proof.
#include <iostream>

#include <gtest/gtest.h>

#include "orrery/base/stopwatch.h"
#include "orrery/formats/substation/full_tables_test_util.h"
#include "orrery/formats/substation/kernel_file.h"
#include "orrery/formats/substation/write.h"
#include "orrery/tuning/consistency.h"
#include "orrery/tuning/path_modes.h"
#include "orrery/tuning/selection.h"

namespace orrery::formats::substation {
namespace {

TEST(FullTables, OfHundredsOfThousandsOfLayoutsAreChosenFromWithAProof) {
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  for (const std::uint64_t seed : {1u, 2u}) {
    const tuning::Measurements measured = full_tables(graph, seed);
    std::size_t rows = 0;
    for (const auto& [name, table] : measured.tables) rows += table.rows();
    EXPECT_GT(rows, 700'000u);
    const base::Stopwatch clock;
    const tuning::Problem problem = tuning::make_problem(graph, measured);
    const double made = clock.seconds();
    const tuning::Minimum found = tuning::minimize(problem.factors, cost::Budget({.memory = 0}));
    ASSERT_TRUE(found.found && found.proven());
    std::cout << rows << " rows: graph in " << made << " s, optimum in " << clock.seconds() - made << " s, width "
              << found.width << ", cells " << found.cells << ", nodes " << found.nodes << "\n";
    const auto selection = tuning::evaluate(problem, found.values);
    ASSERT_TRUE(selection);
    EXPECT_EQ(selection->time, found.cost);
    EXPECT_GT(found.cost, tuning::without_layouts(problem));
    if (seed != 1) continue;
    tuning::FactorGraph consistent = problem.factors;
    ASSERT_EQ(tuning::make_consistent(consistent, {}), tuning::Consistency::kConsistent);
    for (const tuning::Mode mode :
         {tuning::Mode::kForwardFirst, tuning::Mode::kBackwardFirst, tuning::Mode::kCombined}) {
      const auto outcome = tuning::run_mode(problem, consistent, mode, {}, {});
      if (outcome.selection) {
        EXPECT_GE(outcome.selection->time, found.cost);
      }
    }
  }
}

TEST(FullTables, AreReadAsTheyWereWritten) {
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  tuning::Measurements measured = full_tables(graph, 3);
  const tuning::Measured& table = measured.tables.find("bdrln")->second;
  const std::string text = kernel_text(table, graph, measured.sizes);
  for (const Expected& expected : expected_files(graph)) {
    if (expected.benchmark != "bdrln") continue;
    base::Diagnostics found;
    SizesSeen sizes;
    tuning::Measured read = empty_table(expected);
    Source source("bdrln-combined.csv", text);
    const base::Stopwatch clock;
    read_kernel(source, expected, sizes, read, found);
    const double seconds = clock.seconds();
    std::cout << read.lines << " lines in " << seconds << " s: " << static_cast<double>(read.lines) / seconds / 1e6
              << " million lines/s, " << static_cast<double>(text.size()) / seconds / 1e6 << " MB/s\n";
    ASSERT_FALSE(found.has_errors());
    EXPECT_EQ(read.times, table.times);
    EXPECT_EQ(read.layouts, table.layouts);
  }
}

}  // namespace
}  // namespace orrery::formats::substation
