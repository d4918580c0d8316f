// Tables of full size: read at a rate of millions of lines, chosen from within seconds, with a proof.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/formats/substation/folder.h"
#include "orrery/formats/substation/full_tables_test_util.h"
#include "orrery/formats/substation/kernel_file.h"
#include "orrery/formats/substation/write.h"
#include "orrery/runtime/tuning/selection/consistency.h"
#include "orrery/runtime/tuning/selection/layout_selection.h"
#include "orrery/runtime/tuning/selection/path_modes.h"

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
    const tuning::Minimum found = tuning::minimize(problem.factors, base::Budget({.memory = 0}));
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

// A folder of full tables, drawn with this seed, in the formats of the benchmarks. `shuffled`: the lines of kernels in
// a random order, as ranks that share the work leave them.
void write_folder(const std::filesystem::path& folder, const tuning::Graph& graph, std::uint64_t seed, int specials,
                  bool shuffled) {
  const tuning::Measurements measured = full_tables(graph, seed, specials);
  for (const auto& [name, table] : measured.tables) {
    std::string text = (table.contraction ? result_text : kernel_text)(table, graph, measured.sizes);
    if (shuffled && !table.contraction) {
      std::vector<std::string_view> lines;
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at) + 1;
        lines.push_back(std::string_view(text).substr(at, end - at));
        at = end;
      }
      std::mt19937_64 draw(seed);
      std::shuffle(lines.begin(), lines.end(), draw);
      std::string turned;
      turned.reserve(text.size());
      for (const std::string_view line : lines) turned += line;
      text = std::move(turned);
    }
    std::ofstream(folder / (name + (table.contraction ? "-result.csv" : "-combined.csv"))) << text;
  }
}

// Times that layouts say nothing about, and tables with holes: the dense tables of the elimination are as large, the
// bounds weaker.
TEST(FullTables, WithoutStructureOrWithHolesAreProvenWithinSeconds) {
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  for (const auto& [noise, kept] : {std::pair(20.0, 1.0), {20.0, 0.4}, {0.1, 0.3}}) {
    const tuning::Measurements measured = full_tables(graph, 6, 1, noise, kept);
    const tuning::Problem problem = tuning::make_problem(graph, measured);
    const base::Stopwatch clock;
    const tuning::Minimum found = tuning::minimize(problem.factors, base::Budget({.memory = 0}));
    ASSERT_TRUE(found.proven() && found.found);
    std::cout << "noise " << noise << ", kept " << kept << ": optimum in " << clock.seconds() << " s, width "
              << found.width << ", cells " << found.cells << ", nodes " << found.nodes << "\n";
    const auto selection = tuning::evaluate(problem, found.values);
    ASSERT_TRUE(selection);
    EXPECT_EQ(selection->time, found.cost);
    // What is found at once is a choice, and no better.
    const std::atomic<bool> stop = true;
    const base::Stopwatch soon;
    const tuning::Minimum first = tuning::minimize(problem.factors, base::Budget({.memory = 0, .stop = &stop}));
    std::cout << "at once: " << tuning::ms(first.cost) << " ms for " << tuning::ms(found.cost) << ", in "
              << soon.seconds() << " s\n";
    ASSERT_TRUE(first.found);
    EXPECT_GE(first.cost, found.cost);
    EXPECT_LE(first.bound, found.cost);
  }
}

// ORRERY_TABLES=FOLDER keeps what is drawn there.
TEST(FullTables, AreReadAlikeByAnyNumberOfThreadsAndInPiecesOfAnySize) {
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  const char* const kept = std::getenv("ORRERY_TABLES");
  const std::filesystem::path folder =
      kept != nullptr ? std::filesystem::path(kept)
                      : std::filesystem::temp_directory_path() / ("orrery_tables_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  write_folder(folder, graph, 4, kept != nullptr ? 2 : 1, kept != nullptr);
  base::Diagnostics warnings;
  std::optional<tuning::Measurements> first;
  for (const auto& [threads, piece] :
       {std::pair(1, std::size_t{1} << 40), {2, std::size_t{4} << 20}, {3, std::size_t{777'777}}}) {
    const base::Stopwatch clock;
    auto read = read_folder(folder.string(), graph, {.threads = threads, .stop = nullptr, .piece = piece}, warnings);
    std::size_t lines = 0;
    for (const auto& [name, table] : read->tables) lines += table.lines;
    std::cout << lines << " lines on " << threads << " threads in " << clock.seconds()
              << " s: " << static_cast<double>(lines) / clock.seconds() / 1e6 << " million lines/s, "
              << read->bytes / clock.seconds() / 1e6 << " MB/s\n";
    if (!first) {
      first = std::move(read);
      continue;
    }
    for (const auto& [name, table] : read->tables) {
      const tuning::Measured& other = first->tables.find(name)->second;
      EXPECT_EQ(table.times, other.times) << name;
      EXPECT_EQ(table.layouts, other.layouts) << name;
      EXPECT_EQ(table.chosen, other.chosen) << name;
      EXPECT_EQ(table.lines, other.lines) << name;
      for (std::size_t c = 0; c < table.columns.size(); ++c)
        EXPECT_EQ(table.columns[c].values, other.columns[c].values) << name;
    }
  }
  if (kept == nullptr) std::filesystem::remove_all(folder);
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
