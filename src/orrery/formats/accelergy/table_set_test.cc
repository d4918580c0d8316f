#include "orrery/formats/accelergy/table_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <source_dir.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/describe/energy/estimate_test_util.h"

namespace orrery::formats::accelergy {
namespace {

using energy::answer;
using energy::Attributes;
using energy::EstimationTables;
using energy::refused;
using energy::whole;
using energy::word;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

using base::Folder;

std::string set(const std::string& name, const std::string& technology, int accuracy, const std::string& folder) {
  return "name: " + name + "\ntechnology: " + technology + "\naccuracy: " + std::to_string(accuracy) +
         "\npath_to_data_dir: ./" + folder + "\n";
}

struct Read {
  std::vector<energy::TableSet> sets;
  std::vector<base::Diagnostic> found;
};

Read read(const std::string& path) {
  base::Diagnostics found;
  Read read;
  read.sets = read_table_sets(path, found);
  read.found = found.all();
  return read;
}

EstimationTables tables(const std::string& path, energy::EstimateOptions options = {}) {
  return EstimationTables(read(path).sets, options);
}

Attributes at_32nm(Attributes more = {}) {
  more.insert({"technology", word("32nm")});
  return more;
}

TEST(TableSet, SetsAreFoundAtAnyDepthInTheOrderOfTheirPaths) {
  Folder folder;
  folder.add("b/two.table.yaml", set("two", "32nm", 90, "data")).add("b/data/ADC.csv", "action,energy\nconvert,2\n");
  folder.add("a/x/one.table.yaml", set("one", "32nm", 80, ".")).add("a/x/DAC.csv", "action,energy\nconvert,1\n");
  const Read all = read(folder.string());
  EXPECT_TRUE(all.found.empty());
  ASSERT_EQ(all.sets.size(), 2u);
  EXPECT_EQ(all.sets[0].name, "one");
  EXPECT_EQ(all.sets[1].tables.at(0).class_name, "ADC");
}

TEST(TableSet, EnergyNeedsActionAndArgumentsAreaOnlyAttributes) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "32nm", 100, "data"))
      .add("data/SRAM.csv",
           "technology,width,depth,action,data_delta,energy,area\r\n32nm,16,128,read,1,0.192,770\r\n"
           "32nm,16,1024,read,1,1.03,2100\r\n32nm,16,1024,read,0,0.5,2101\r\n");
  const EstimationTables all = tables(folder.string());
  const Attributes sram = at_32nm({{"width", whole(16)}, {"depth", whole(1024)}, {"n_banks", whole(4)}});
  EXPECT_EQ(answer(all, "SRAM", sram, "read").value, 1.03);
  EXPECT_EQ(answer(all, "SRAM", sram, "read", {{"data_delta", whole(0)}}).value, 0.5);
  EXPECT_EQ(answer(all, "SRAM", sram, "").value, 2100);
  EXPECT_EQ(refused(all, "SRAM", sram, "read", {{"address_delta", whole(1)}}),
            "SRAM.csv has no column for the argument address_delta");
  EXPECT_EQ(answer(all, "SRAM", sram, "read").source, "SRAM.csv line 3 of `t`");
}

TEST(TableSet, CellsAreComparedAsTextAndTheNearestRowIsTold) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "32nm", 100, "data"))
      .add("data/ADC.csv",
           "technology,type,datawidth,global_cycle_seconds,action,energy\n"
           "32nm,flash,4,1e-09,convert,9\n32nm,SAR,8,1.2e-09,convert,1.66\n");
  const EstimationTables all = tables(folder.string());
  Attributes adc = at_32nm({{"type", word("SAR")}, {"datawidth", whole(8)}});
  adc["global_cycle_seconds"] = energy::Value(1.2e-9);
  EXPECT_EQ(answer(all, "ADC", adc, "convert").value, 1.66);
  EXPECT_EQ(refused(all, "ADC", adc, "idle"), "ADC.csv line 3 differs in action: convert, not idle");
  adc["datawidth"] = whole(16);
  EXPECT_EQ(refused(all, "ADC", adc, "convert"), "ADC.csv line 3 differs in datawidth: 8, not 16");
  adc["datawidth"] = energy::Value(8.0);
  EXPECT_EQ(refused(all, "ADC", adc, "convert"),
            "ADC.csv line 3 differs in datawidth: 8, not 8.0 (cells are compared as text)");
  EXPECT_EQ(refused(all, "ADC", {{"technology", word("45nm")}}, "convert"), "has `ADC` for technology 32nm, not 45nm");
  EXPECT_EQ(refused(all, "ADC", {}, "convert"), "needs attribute `technology`");
  EXPECT_EQ(refused(all, "ADC", adc, ""),
            "ADC.csv line 3 differs in datawidth: 8, not 8.0 (cells are compared as text)");
}

TEST(TableSet, TheMoreAccurateSetWinsAndOfEqualsTheFirst) {
  Folder folder;
  for (const auto& [name, accuracy, energy] :
       {std::tuple{"a", 80, "1"}, std::tuple{"b", 90, "2"}, std::tuple{"c", 90, "3"}}) {
    folder.add(std::string(name) + "/t.table.yaml", set(name, "32nm", accuracy, "data"))
        .add(std::string(name) + "/data/X.csv", std::string("action,energy,area\nread,") + energy + ",5\n");
  }
  EXPECT_EQ(answer(tables(folder.string()), "X", at_32nm(), "read").value, 2);
  EXPECT_EQ(tables(folder.string()).accuracy({"X", at_32nm(), "read", {}}), 90);
}

TEST(TableSet, ALaterSetWithoutARowTakesTheRowFoundAwayOnlyInAccelergysWay) {
  Folder folder;
  folder.add("a/t.table.yaml", set("a", "32nm", 80, "data")).add("a/data/X.csv", "action,energy\nread,1\n");
  folder.add("b/t.table.yaml", set("b", "32nm", 90, "data")).add("b/data/X.csv", "action,energy\nwrite,2\n");
  EXPECT_EQ(answer(tables(folder.string()), "X", at_32nm(), "read").value, 1);
  EXPECT_EQ(refused(tables(folder.string(), energy::EstimateOptions::accelergy()), "X", at_32nm(), "read"),
            "X.csv line 2 differs in action: write, not read; so `b` takes away the row that `a` has (Accelergy 0.4)");
}

TEST(TableSet, RaggedRowsAreLeftOutAndNamedWhereTheyAreMissed) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "free", 100, "data"))
      .add("data/S.csv", "technology,cellwidth,action,energy,area,comment\nfree,read,0,0,\nfree,2,read,1,1\n");
  const Read all = read(folder.string());
  ASSERT_EQ(all.found.size(), 1u);
  EXPECT_EQ(all.found[0].code, "O1235");
  EXPECT_EQ(all.found[0].severity, base::Severity::kWarning);
  EXPECT_EQ(all.found[0].message, "this row has 5 cells for 6 columns and is left out");
  EXPECT_EQ(all.found[0].primary.where.line, 2);
  const EstimationTables sets(all.sets, {});
  EXPECT_EQ(answer(sets, "S", {{"technology", word("free")}}, "read").value, 1);  // only its comment is missing
  EXPECT_EQ(refused(sets, "S", {{"technology", word("free")}}, "write"),
            "S.csv line 3 differs in action: read, not write; its line 2 is left out, with more or fewer cells than "
            "there are "
            "columns");
}

TEST(TableSet, ARowWithoutItsFigureIsNoZero) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "32nm", 100, "data")).add("data/X.csv", "action,energy,area\nread,,\n");
  EXPECT_EQ(refused(tables(folder.string()), "X", at_32nm(), "read"), "X.csv line 2 matches, but has no energy");
  EXPECT_EQ(refused(tables(folder.string()), "X", at_32nm(), ""), "X.csv line 2 matches, but has no area");
}

TEST(TableSet, ErrorsOfTablesHaveTheirPlace) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "32nm", 100, "data"));
  folder.add("data/A.csv", "").add("data/B.csv", "technology,action,Energy\n");
  folder.add("data/C.csv", "action,energy,action\nread,1,read\n")
      .add("data/D.csv", "technology,action,energy\n32nm,read,1.2pJ\n");
  folder.add("data/E.csv", "action,energy,area\nread,1,-3\n").add("data/F.csv", "action,energy\nread,\"1\n");
  folder.add("data/G.csv", "action;energy\nread;1\n");
  const Read all = read(folder.string());
  std::vector<std::string> said;
  for (const auto& one : all.found) {
    EXPECT_EQ(one.severity, base::Severity::kError);
    said.push_back(one.code + " " + one.message);
  }
  EXPECT_THAT(said, ElementsAre("O1234 this table is empty", "O1234 this table has no column `energy`",
                                "O1234 column `action` occurs twice",
                                "O1236 an energy is a number of pJ that is not negative, not `1.2pJ`",
                                "O1236 an area is a number of um^2 that is not negative, not `-3`",
                                "O1230 a quote is opened and never closed",
                                "O1234 cells are separated by `;` here, not by commas"));
  EXPECT_THAT(all.found[1].hints, ElementsAre("did you mean `Energy`?"));
  EXPECT_EQ(all.found[3].primary.where.line, 2);
  EXPECT_EQ(all.found[3].primary.where.column, 11);
}

TEST(TableSet, ATableWithAHeaderAloneIsWarnedOf) {
  Folder folder;
  folder.add("t.table.yaml", set("t", "32nm", 100, "data")).add("data/X.csv", "action,energy,area\n");
  const Read all = read(folder.string());
  ASSERT_EQ(all.found.size(), 1u);
  EXPECT_EQ(all.found[0].code, "O1270");
  EXPECT_EQ(all.found[0].primary.where.line, 1);
}

TEST(TableSet, ErrorsOfDescriptionsSayWhatIsMissing) {
  Folder folder;
  folder.add("a.table.yaml", "name: a\ntechnology: 32nm\nacuracy: 100\npath_to_data_dir: .\n");
  folder.add("b.table.yaml", set("b", "32nm", 100, "nowhere")).add("c.table.yaml", set("c", "32nm", 101, "."));
  folder.add("d.table.yaml", "- a list\n").add("e.table.yaml", "name: [a\n");
  folder.add("f.table.yaml", "name: a\ntechnology: [1]\naccuracy: 1\npath_to_data_dir: .\n");
  const Read all = read(folder.string());
  std::vector<std::string> codes;
  for (const auto& one : all.found) codes.push_back(one.code);
  EXPECT_THAT(codes, ElementsAre("O1232", "O1233", "O1232", "O1232", "O0101", "O1232"));
  EXPECT_EQ(all.found[0].message, "a table set needs `accuracy`");
  EXPECT_THAT(all.found[0].hints, ElementsAre("is `acuracy` meant for it?"));
  EXPECT_EQ(all.found[1].primary.where.line, 4);
  EXPECT_EQ(all.found[2].message, "`accuracy` is a number from 0 to 100, not `101`");
  EXPECT_TRUE(all.sets.empty());
}

TEST(TableSet, AFolderWithoutASetIsAnError) {
  Folder folder;
  folder.add("data/X.csv", "action,energy\nread,1\n");
  EXPECT_EQ(read(folder.string()).found.at(0).code, "O1237");
  EXPECT_EQ(read(folder.string() + "/nowhere").found.at(0).code, "O1237");
  EXPECT_EQ(read(folder.string() + "/data/X.csv").found.at(0).code, "O1237");
}

TEST(TableSet, TheSameNameTwiceIsAWarning) {
  Folder folder;
  folder.add("a.table.yaml", set("t", "32nm", 100, "data")).add("b.table.yaml", set("t", "32nm", 100, "data"));
  folder.add("data/X.csv", "action,energy\nread,1\n");
  const Read all = read(folder.string());
  ASSERT_EQ(all.found.size(), 1u);
  EXPECT_EQ(all.found[0].code, "O1238");
  EXPECT_EQ(all.found[0].severity, base::Severity::kWarning);
}

TEST(TableSet, ANodeWrittenAsANumberIsComparedAsPythonPrintsIt) {
  Folder folder;
  folder.add("a.table.yaml", set("a", "32", 100, "data")).add("data/X.csv", "action,energy\nread,1\n");
  EXPECT_EQ(answer(tables(folder.string()), "X", {{"technology", whole(32)}}, "read").value, 1);
  EXPECT_EQ(refused(tables(folder.string()), "X", {{"technology", energy::Value(32.0)}}, "read"),
            "has `X` for technology 32, not 32.0");
}

// The folders of Timeloop-Experiments, as its users pass them.
std::string seed(const std::string& folder) {
  return ORRERY_SOURCE_DIR "/../shared/seeds/timeloop-experiments/" + folder;
}

TEST(TableSet, TheTablesOfThePimArchitectureAnswerItsPrimitives) {
  const std::string folder = seed("transformer_pim/PIM_estimation_tables");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "the users' folders are not beside this checkout";
  const Read all = read(folder);
  EXPECT_TRUE(all.found.empty()) << all.found[0].message;
  const EstimationTables sets(all.sets, {});
  const auto cycles = [](Attributes attributes) {
    attributes.insert({{"global_cycle_seconds", energy::Value(1.2e-9)}, {"cycle_seconds", energy::Value(1.2e-9)}});
    attributes.insert({{"action_latency_cycles", whole(1)}, {"n_instances", whole(1)}, {"latency", word("1ns")}});
    return attributes;
  };
  const Attributes arguments{{"global_cycle_seconds", energy::Value(1.2e-9)}, {"action_latency_cycles", whole(1)}};
  const Attributes adc = cycles(at_32nm({{"type", word("SAR")}, {"datawidth", whole(8)}}));
  EXPECT_EQ(answer(sets, "ADC", adc, "convert", arguments).value, 1.66);
  EXPECT_EQ(answer(sets, "ADC", adc, "").value, 1200);
  EXPECT_EQ(answer(sets, "DAC", cycles(at_32nm({{"datawidth", whole(1)}})), "convert", arguments).value, 0.0033);
  EXPECT_EQ(answer(sets, "sample_and_hold", cycles(at_32nm()), "sample_and_hold", arguments).value, 8.13e-6);
  EXPECT_EQ(answer(sets, "shift_and_add", cycles(at_32nm({{"datawidth", whole(16)}})), "shift_and_add").value, 0.0418);
  const Attributes sram = cycles(at_32nm({{"datawidth", whole(16)}, {"width", whole(16)}, {"depth", whole(128)}}));
  EXPECT_EQ(answer(sets, "SRAM", sram, "read", {{"address_delta", whole(1)}, {"data_delta", whole(1)}}).value, 0.192);
  EXPECT_EQ(answer(sets, "SRAM", sram, "").value, 770);
  const Attributes cell = cycles({{"technology", word("memristor")}, {"cellwidth", whole(2)}});
  EXPECT_EQ(answer(sets, "ReRAMcell_compute", cell, "compute", {{"technology", word("memristor")}}).value, 1.83e-3);
  EXPECT_EQ(answer(sets, "ReRAMcell_compute", cell, "").value, 0.001525879);
  EXPECT_EQ(answer(sets, "ReRAMcell_storage", cell, "read").value, 0.0066);
  EXPECT_EQ(answer(sets, "ReRAMcell_storage", cell, "idle").value, 0);
  EXPECT_EQ(answer(sets, "intmac", at_32nm({{"datawidth", whole(16)}}), "mac_random").value, 2.29);
  // These tables have no column of the argument that Accelergy passes on, so they never answer it.
  EXPECT_EQ(refused(sets, "DRAM", cycles(at_32nm({{"width", whole(256)}})), "read", arguments),
            "DRAM.csv has no column for the argument action_latency_cycles");
}

TEST(TableSet, TheFreeTablesOfTheGemminiArchitectureReadWithWarnings) {
  const std::string folder = seed("transformer_gemmini/free_data");
  if (!fs::is_directory(folder)) GTEST_SKIP() << "the users' folders are not beside this checkout";
  const Read all = read(folder);
  for (const auto& one : all.found)
    EXPECT_EQ(one.code + (one.severity == base::Severity::kWarning ? "w" : "e"), "O1235w");
  EXPECT_EQ(all.found.size(), 3u);  // every row of free_storage.csv lacks a cell
  const EstimationTables sets(all.sets, {});
  EXPECT_EQ(answer(sets, "free_compute", {{"technology", word("free")}}, "compute").value, 0);
  EXPECT_THAT(refused(sets, "free_storage", {{"technology", word("free")}}, "read"),
              HasSubstr("its lines 2, 3, 4 are left out"));
}

RC_GTEST_PROP(TableSet, TheOrderOfRowsAndOfSetsCountsForNothing, ()) {
  const int widths = *rc::gen::inRange(1, 12);
  energy::EstimationTable table{"X", "X.csv", {"width", "action", "energy"}, 1, {}, {}};
  for (int i = 0; i < widths; ++i)
    table.rows.push_back({i + 2, {std::to_string(i), "read", ""}, 1.0 + *rc::gen::inRange(0, 100), 1.0 * i});
  std::vector<energy::TableSet> sets;
  for (int i = 0; i < 4; ++i) {
    energy::TableSet one{"s" + std::to_string(i), "32nm", 50.0 + i, "s.yaml", {table}};
    for (auto& row : one.tables[0].rows) row.energy_pj = *row.energy_pj + 1000 * i;
    one.tables[0].rows.resize(*rc::gen::inRange<std::size_t>(0, table.rows.size() + 1));
    sets.push_back(one);
  }
  const EstimationTables straight(sets, {});
  auto shuffled = sets;
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
  for (auto& one : shuffled) {
    auto& rows = one.tables[0].rows;
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  const EstimationTables permuted(shuffled, {});
  for (int width = 0; width < widths; ++width) {
    const Attributes attributes = at_32nm({{"width", whole(width)}});
    for (const char* action : {"read", ""}) {
      const energy::Query query{"X", attributes, action, {}};
      const auto one = straight.estimate(query);
      const auto two = permuted.estimate(query);
      RC_ASSERT(one.index() == two.index());
      if (const auto* figure = std::get_if<energy::Figure>(&one))
        RC_ASSERT(figure->value == std::get<energy::Figure>(two).value);
    }
  }
}

}  // namespace
}  // namespace orrery::formats::accelergy
