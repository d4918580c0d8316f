// The figures of catalog/tables, read and asked.
#include "orrery/formats/accelergy/catalogue_tables.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/energy/estimate_test_util.h"

namespace orrery::formats::accelergy {
namespace {

using energy::answer;
using energy::Attributes;
using energy::Library;
using energy::refused;
using energy::six_digits;
using energy::whole;
using energy::word;
using ::testing::HasSubstr;

const CatalogueTables& tables() {
  static const CatalogueTables tables = [] {
    base::Diagnostics found;
    auto read = read_catalogue_tables(ORRERY_SOURCE_DIR "/catalog/tables", found);
    EXPECT_TRUE(found.all().empty()) << (found.all().empty() ? "" : found.all()[0].message);
    return read;
  }();
  return tables;
}

const Library& library() {
  static const Library library(tables().library, tables().nodes);
  return library;
}
const Library& aladdin() {
  static const Library library(tables().aladdin, tables().nodes, {"aladdin", 70, false});
  return library;
}
const Library& published() {
  static const Library library(tables().published, tables().nodes, {"published", 75, true});
  return library;
}

// As a user's components reach the library: 32 nm, 1.2 ns.
Attributes gemmini(Attributes more = {}) {
  more.insert({{"technology", word("32nm")}, {"global_cycle_seconds", energy::Value(1.2e-9)}});
  more.insert({{"cycle_seconds", energy::Value(1.2e-9)}, {"n_instances", whole(1)}});
  more.insert({"action_latency_cycles", whole(1)});
  return more;
}

double relative(double a, double b) {
  return std::fabs(a / b - 1);
}

TEST(NodeScaling, From45To32NmAreTheFactorsOfTheTable) {
  EXPECT_EQ(six_digits(*energy_factor(tables().nodes, 45, 32)), 0.65934);
  EXPECT_EQ(*area_factor(tables().nodes, 45, 32), 0.46);
}

TEST(NodeScaling, BetweenNodesTheIndexIsInterpolated) {
  const double f45 = 1.103 * 0.64 - 0.362 * 0.8 + 0.2767;
  const double f32 = 0.9559 * 0.64 - 0.7823 * 0.8 + 0.471;
  EXPECT_NEAR(*energy_factor(tables().nodes, 45, 40), ((8 * f45 + 5 * f32) / 13) / f45, 1e-12);
  EXPECT_NEAR(*area_factor(tables().nodes, 45, 40), (8 * 1 + 5 * 0.46) / 13, 1e-12);
}

TEST(NodeScaling, OutsideTheNodesThereIsNoFactor) {
  EXPECT_FALSE(energy_factor(tables().nodes, 45, 131));
  EXPECT_FALSE(energy_factor(tables().nodes, 6.9, 45));
  EXPECT_FALSE(area_factor(tables().nodes, 45, 250));
}

TEST(NodeScaling, NodesAreReadAsTextNumberOrMetres) {
  EXPECT_EQ(energy::node_nm(word("32nm")), 32);
  EXPECT_EQ(energy::node_nm(word("32")), 32);
  EXPECT_EQ(energy::node_nm(whole(32)), 32);
  EXPECT_NEAR(*energy::node_nm(energy::Value(32e-9)), 32, 1e-9);
  EXPECT_FALSE(energy::node_nm(word("memristor")));
  EXPECT_FALSE(energy::node_nm(word("nm")));
  EXPECT_FALSE(energy::node_nm(whole(-1)));
}

RC_GTEST_PROP(NodeScaling, ThereAndBackIsTheIdentityForEnergy, ()) {
  const double from = *rc::gen::inRange(70, 1301) / 10.0;
  const double to = *rc::gen::inRange(70, 1301) / 10.0;
  const auto& nodes = tables().nodes;
  RC_ASSERT(relative(*energy_factor(nodes, from, to) * *energy_factor(nodes, to, from), 1) < 1e-12);
  RC_ASSERT(*energy_factor(nodes, from, from) == 1);
  const double by_way_of_45 = *energy_factor(nodes, from, 45) * *energy_factor(nodes, 45, to);
  RC_ASSERT(relative(by_way_of_45, *energy_factor(nodes, from, to)) < 1e-12);
}

TEST(Library, TwoAddersMakeTheMacOfTheGolden) {
  const Attributes adder = gemmini({{"width", whole(32)}});
  const Attributes multiplier = gemmini({{"width_a", whole(8)}, {"width_b", whole(8)}});
  const auto both = [&](const char* action) {
    return six_digits(answer(library(), "aladdin_adder", adder, action).value +
                      answer(library(), "aladdin_adder", multiplier, action).value);
  };
  EXPECT_EQ(both("read"), 0.276923);
  EXPECT_EQ(both("leak"), 0.0037978);
  EXPECT_EQ(both(""), 255.76);
}

TEST(Library, SaysWhatItScaledAndWhatItTookAsGiven) {
  const auto figure = answer(library(), "aladdin_adder", gemmini({{"width_a", whole(8)}}), "leak");
  EXPECT_EQ(figure.source,
            "Aladdin, 32 bit adder, 45 nm; scaled: technology 45nm to 32nm x 0.6593, global_cycle_seconds 1e-9 to "
            "1.2e-09 x 1.2; not given, so taken: width 32");
  EXPECT_EQ(figure.accuracy_percent, 90);
}

TEST(Library, ClassesAttributesAndActionsAreComparedInAnyCase) {
  EXPECT_EQ(answer(library(), "Aladdin_Adder", gemmini({{"WIDTH", whole(64)}}), "Add").value,
            answer(library(), "aladdin_adder", gemmini({{"datawidth", whole(64)}}), "add").value);
}

TEST(Library, RefusesTellWhatIsKnown) {
  EXPECT_EQ(refused(library(), "aladdin_adder", gemmini(), "multiply"),
            "of `aladdin_adder` it knows add, read, leak, update, write");
  EXPECT_EQ(refused(library(), "aladdin_adder", {{"technology", word("250nm")}}, "add"),
            "scales technologies from 7 to 130 nm, not 250 nm");
  EXPECT_EQ(refused(library(), "aladdin_adder", {{"technology", word("memristor")}}, "add"),
            "cannot scale technology 45nm to `memristor`");
  EXPECT_EQ(refused(library(), "aladdin_adder", gemmini({{"width", word("wide")}}), "add"),
            "cannot scale width 32 to `wide`");
  EXPECT_EQ(refused(published(), "intadder", gemmini(), "add"), "needs attribute `width`");
  EXPECT_EQ(refused(published(), "ReRAMcell_compute", gemmini({{"cellwidth", whole(1)}}), "compute"),
            "has no law to scale cellwidth 2 to 1");
  EXPECT_EQ(refused(aladdin(), "intadder", gemmini({{"width", whole(8)}}), "add"),
            "knows it for 45nm, 45, 40nm, 40, not 32nm");
  EXPECT_FALSE(library().accuracy({"SRAM", {}, "read", {}}));
}

TEST(Library, AladdinsTablesHoldAt40And45Nm) {
  for (const char* technology : {"40nm", "45nm", "45"}) {
    const Attributes at{{"technology", word(technology)}, {"datawidth", whole(16)}};
    EXPECT_EQ(answer(aladdin(), "intadder", at, "add").value, 0.105);
    EXPECT_EQ(answer(aladdin(), "intmultiplier", at, "multiply").value, 12.68 / 4);
  }
}

TEST(Published, AtTheNodeOfTheSourceAreTheFiguresOfTheSource) {
  const auto at = [](base::Count width) { return Attributes{{"technology", word("45nm")}, {"width", whole(width)}}; };
  EXPECT_EQ(answer(published(), "intadder", at(8), "add").value, 0.03);
  EXPECT_EQ(answer(published(), "intadder", at(16), "").value, 67);
  EXPECT_EQ(answer(published(), "intmultiplier", at(32), "multiply").value, 3.1);
  EXPECT_EQ(answer(published(), "fpmac", at(16), "compute").value, 1.5);
  EXPECT_EQ(answer(published(), "fpmultiplier", at(32), "").value, 7700);
}

TEST(Published, AFormatOfFloatingPointIsAWidth) {
  const auto at = [](Attributes more) {
    more.emplace("technology", word("45nm"));
    return more;
  };
  const Attributes half{{"exponent", whole(5)}, {"mantissa", whole(10)}};
  EXPECT_EQ(answer(published(), "fpmac", at(half), "compute").value, 1.5);
  EXPECT_EQ(answer(published(), "fpadder", at({{"exponent", whole(8)}, {"mantissa", whole(23)}}), "add").value, 0.9);
  // More to the point than the width of the words around, and not against a width of its own.
  EXPECT_EQ(answer(published(), "fpmac", at({{"exponent", whole(5)}, {"mantissa", whole(10)}, {"datawidth", whole(8)}}),
                   "compute")
                .value,
            1.5);
  EXPECT_EQ(answer(published(), "fpmac", at({{"exponent", whole(8)}, {"mantissa", whole(24)}, {"width", whole(32)}}),
                   "compute")
                .value,
            4.6);
  EXPECT_EQ(refused(published(), "fpmac", at({{"exponent", whole(5)}, {"mantissa", whole(10)}, {"width", whole(32)}}),
                    "compute"),
            "`width` is 32, but 1 + exponent 5 + mantissa 10 = 16 bit");
  EXPECT_EQ(refused(published(), "fpmac", at({{"exponent", whole(-5)}, {"mantissa", whole(10)}}), "compute"),
            "`exponent` is not a number of bits, but `-5`");
}

TEST(Published, AnAdderWiderThanThatOfTheFiguresIsBeyondThem) {
  Attributes mac{{"technology", word("45nm")}, {"width", whole(8)}, {"adder_width", whole(64)}};
  EXPECT_EQ(answer(published(), "intmac", mac, "compute").beyond.size(), 1u);
  mac["adder_width"] = whole(24);
  EXPECT_EQ(answer(published(), "intmac", mac, "compute").beyond.size(), 0u);
  EXPECT_NE(answer(published(), "intmac", mac, "compute").source.find("its adder has 32 bit, not 24"),
            std::string::npos);
  mac["adder_width"] = whole(32);
  EXPECT_EQ(answer(published(), "intmac", mac, "compute").source.find("its adder"), std::string::npos);
}

TEST(Published, ConvertersOfIsaacAreThoseOfItsTable) {
  const Attributes adc{{"technology", word("32nm")}, {"datawidth", whole(8)}, {"type", word("SAR")}};
  EXPECT_EQ(six_digits(answer(published(), "ADC", adc, "convert").value), 1.66667);
  EXPECT_EQ(answer(published(), "ADC", adc, "").value, 1200);
  Attributes more = adc;
  more["datawidth"] = whole(9);
  EXPECT_EQ(six_digits(answer(published(), "ADC", more, "convert").value), 3.33333);
  more["type"] = word("flash");
  EXPECT_EQ(refused(published(), "ADC", more, "convert"), "cannot scale type SAR to `flash`");
  const Attributes cell{{"technology", word("memristor")}, {"cellwidth", whole(2)}};
  EXPECT_EQ(six_digits(answer(published(), "ReRAMcell_compute", cell, "compute").value), 0.00183105);
}

// An address of log(depth) bits, as descriptions for Accelergy 0.2 have it.
TEST(Published, OfAWidthThatIsNoWholeNumberTheNextOneCounts) {
  const energy::Figure odd = answer(published(), "intadder", gemmini({{"width", energy::Value(6.93)}}), "add");
  const energy::Figure whole_bits = answer(published(), "intadder", gemmini({{"width", whole(7)}}), "add");
  EXPECT_EQ(odd.value, whole_bits.value);
  ASSERT_EQ(odd.beyond.size(), 1u);
  EXPECT_EQ(odd.beyond[0], "`width` is 6.93, no number of bits; 7 are taken");
}

TEST(Published, AWireHasItsLengthInAnyUnit) {
  const auto energy = [](energy::Attributes length) {
    length.emplace("technology", word("45nm"));
    length.emplace("width", whole(16));
    return answer(published(), "wire", length, "transfer_random").value;
  };
  const double two = energy({{"length_mm", whole(2)}});
  EXPECT_DOUBLE_EQ(energy({{"length", word("2mm")}}), two);
  EXPECT_DOUBLE_EQ(energy({{"length", word("2000um")}}), two);
  EXPECT_DOUBLE_EQ(energy({{"length", whole(2000)}}), two);
}

TEST(Published, ACrossbarGrowsWithInputsOutputsAndWidth) {
  const auto area = [](base::Count inputs, base::Count outputs, base::Count width) {
    const energy::Attributes attributes{{"technology", word("45nm")},
                                        {"n_inputs", whole(inputs)},
                                        {"n_outputs", whole(outputs)},
                                        {"width", whole(width)}};
    return answer(published(), "crossbar", attributes, "").value;
  };
  EXPECT_DOUBLE_EQ(area(1, 4, 32), 569.5);
  EXPECT_DOUBLE_EQ(area(4, 4, 32), 4 * 569.5);
  EXPECT_DOUBLE_EQ(area(1, 8, 16), 569.5);
}

TEST(Published, AReusedOperandSavesPartOfAMultiplication) {
  const energy::Attributes mac = gemmini({{"width", whole(32)}});
  const double whole_mac = answer(published(), "intmac", mac, "mac_random").value;
  EXPECT_LT(answer(published(), "intmac", mac, "mac_reused").value, whole_mac);
  EXPECT_LT(answer(published(), "intmac", mac, "mac_gated").value,
            answer(published(), "intmac", mac, "mac_reused").value);
}

TEST(Published, NothingWithoutAWidthHasAFigure) {
  for (const char* name : {"intmac", "fpmac", "intadder", "register", "comparator"})
    EXPECT_EQ(refused(published(), name, gemmini({{"width", whole(0)}}), "read"), "`width` is 0; it must be positive");
  EXPECT_EQ(refused(published(), "intmultiplier", gemmini({{"width_a", whole(0)}, {"width_b", whole(8)}}), "read"),
            "`width_a` is 0; it must be positive");
  EXPECT_EQ(refused(published(), "intmac", gemmini({{"width", energy::Value(0.5)}}), "read"),
            "`width` is 0.5; it must be a whole number of bits");
  EXPECT_EQ(refused(library(), "aladdin_adder", gemmini({{"width", whole(0)}}), "add"),
            "`width` is 0; it must be positive");
  EXPECT_EQ(answer(published(), "wire", gemmini({{"width", whole(8)}, {"length_mm", whole(0)}}), "read").value, 0);
}

TEST(Published, WidthsFarFromThePublishedDesignsAreExtrapolated) {
  const auto of = [](const char* name, base::Count width) {
    return answer(published(), name, gemmini({{"width", whole(width)}}), "read");
  };
  EXPECT_EQ(of("intmac", 1000).basis, energy::Basis::kExtrapolated);
  EXPECT_EQ(of("intmac", 1000).beyond,
            std::vector<std::string>{
                "`width` 1000 is above the 32 bit of the widest design in the table, by a factor of 31.2"});
  EXPECT_EQ(
      of("intmac", 1).beyond,
      std::vector<std::string>{"`width` 1 is below the 8 bit of the narrowest design in the table, by a factor of 8"});
  for (const base::Count width : {2, 4, 8, 16, 32, 64, 128}) EXPECT_TRUE(of("intmac", width).beyond.empty()) << width;
  EXPECT_TRUE(of("register", 512).beyond.empty());  // bits side by side
}

TEST(Published, ARegisterOfManyWordsIsMarkedAsPricedLikeOne) {
  for (const char* name : {"depth", "entries"}) {
    const auto of = [&](base::Count words) {
      return answer(published(), "register", gemmini({{"width", whole(16)}, {name, whole(words)}}), "read");
    };
    EXPECT_TRUE(of(1).beyond.empty());
    ASSERT_EQ(of(64).beyond.size(), 1u);
    EXPECT_THAT(of(64).beyond[0], HasSubstr("64: the figures, area and leakage included, are those of one word"));
    EXPECT_EQ(of(64).basis, energy::Basis::kExtrapolated);
  }
}

TEST(Dram, WithoutAWidthItIsRefused) {
  EXPECT_EQ(refused(energy::Dram(tables().dram), "DRAM", {{"width", whole(0)}}, "read"),
            "`width` is not a positive number of bits, but `0`");
}

TEST(Published, AWireCostsByBitAndMillimetre) {
  const Attributes wire{{"technology", word("16nm")}, {"width", whole(256)}, {"length_mm", whole(10)}};
  EXPECT_NEAR(answer(published(), "wire", wire, "transfer_random").value, 310, 0.5);
  EXPECT_EQ(refused(published(), "wire", {{"technology", word("16nm")}, {"width", whole(8)}}, "transfer"),
            "needs attribute `length_mm`");
}

RC_GTEST_PROP(Published, TwiceTheWidthIsTwiceAnAdderAndFourTimesAMultiplierBeyondThePublishedOnes, ()) {
  const base::Count width = *rc::gen::inRange(33, 1000);
  const Attributes one = gemmini({{"width", whole(width)}});
  const Attributes two = gemmini({{"width", whole(2 * width)}});
  const auto ratio = [&](const char* name, const char* action) {
    return answer(published(), name, two, action).value / answer(published(), name, one, action).value;
  };
  for (const char* action : {"add", "leak", ""}) RC_ASSERT(relative(ratio("intadder", action), 2) < 1e-12);
  for (const char* action : {"multiply", "leak", ""}) RC_ASSERT(relative(ratio("intmultiplier", action), 4) < 1e-12);
  RC_ASSERT(relative(ratio("router", "transfer"), 2) < 1e-12);
}

RC_GTEST_PROP(Published, SmallerNodesNeverCostMore, ()) {
  const std::vector<std::string> nodes{"130nm", "90nm", "65nm", "45nm", "32nm", "20nm", "16nm", "14nm", "10nm", "7nm"};
  const auto i = *rc::gen::inRange<std::size_t>(1, nodes.size());
  Attributes larger = gemmini({{"width", whole(*rc::gen::inRange(1, 100))}});
  Attributes smaller = larger;
  larger["technology"] = word(nodes[i - 1]);
  smaller["technology"] = word(nodes[i]);
  for (const char* action : {"add", "leak", ""})
    RC_ASSERT(answer(published(), "intadder", smaller, action).value <=
              answer(published(), "intadder", larger, action).value);
}

RC_GTEST_PROP(Library, LeakageGrowsWithTheCycleAndEnergyDoesNot, ()) {
  const double cycle = *rc::gen::inRange(1, 1000) * 1e-10;
  const Attributes one{{"technology", word("45nm")}, {"global_cycle_seconds", energy::Value(cycle)}};
  const Attributes two{{"technology", word("45nm")}, {"global_cycle_seconds", energy::Value(2 * cycle)}};
  RC_ASSERT(relative(answer(library(), "aladdin_counter", two, "leak").value,
                     2 * answer(library(), "aladdin_counter", one, "leak").value) < 1e-9);
  RC_ASSERT(answer(library(), "aladdin_counter", two, "count").value == 0.25074);
}

TEST(Dram, EnergyIsPerBitOfTheType) {
  const energy::Dram dram(tables().dram);
  EXPECT_EQ(answer(dram, "DRAM", {{"width", whole(64)}}, "read").value, 512);
  EXPECT_EQ(answer(dram, "DRAM", {{"width", whole(64)}}, "update").value, 512);
  EXPECT_EQ(answer(dram, "DRAM", {{"width", whole(64)}}, "leak").value, 0);
  EXPECT_EQ(answer(dram, "DRAM", {{"width", whole(64)}}, "").value, 0);
  EXPECT_EQ(answer(dram, "DRAM", {{"width", whole(64)}}, "read").source,
            "LPDDR4 8 pJ/bit x 64 bit (Accelergy's CACTI plug-in; type not given)");
  const std::vector<std::pair<const char*, double>> types{{"LPDDR4", 8}, {"LPDDR", 40},  {"DDR3", 70}, {"GDDR5", 14},
                                                          {"HBM2", 3.9}, {"GDDR6", 7.5}, {"HBM2E", 6}};
  for (const auto& [type, energy] : types)
    EXPECT_EQ(answer(dram, "DRAM", {{"type", word(type)}, {"width", whole(1)}}, "write").value, energy) << type;
}

TEST(Dram, AFigureOfItsOwnHasTheLastWord) {
  const energy::Dram dram(tables().dram);
  EXPECT_EQ(
      answer(dram, "DRAM", {{"type", word("LPDDR5")}, {"pj_per_bit", whole(5)}, {"width", whole(8)}}, "read").value,
      40);
  EXPECT_EQ(refused(dram, "DRAM", {{"pj_per_bit", whole(0)}, {"width", whole(8)}}, "read"),
            "`pj_per_bit` is not a positive number, but `0`");
}

TEST(Dram, OtherTypesAreRefusedWithThoseKnown) {
  const energy::Dram dram(tables().dram);
  EXPECT_EQ(refused(dram, "DRAM", {{"type", word("HMC")}, {"width", whole(64)}}, "leak"),
            "has no energy per bit of type `HMC`; it knows LPDDR4, LPDDR, DDR3, GDDR5, HBM2, GDDR6, GDDR6X, HBM2E");
  EXPECT_THAT(refused(dram, "DRAM", {{"type", word("lpddr4")}, {"width", whole(64)}}, "read"),
              HasSubstr("did you mean `LPDDR4`?"));
  EXPECT_THAT(refused(dram, "DRAM", {{"type", word("DDR4")}, {"width", whole(64)}}, "read"), HasSubstr("`DDR4`"));
  EXPECT_EQ(refused(dram, "DRAM", {}, "read"), "needs attribute `width`, the bits of one access");
  EXPECT_EQ(refused(dram, "DRAM", {{"width", word("many")}}, "read"),
            "`width` is not a positive number of bits, but `many`");
  EXPECT_EQ(refused(dram, "DRAM", {{"width", whole(1)}}, "refresh"), "knows read, write, update and leak of a DRAM");
}

std::vector<std::string> problems(const std::string& text) {
  base::Diagnostics found;
  read_library(base::source(text, "t.csv"), found);
  std::vector<std::string> problems;
  for (const auto& one : found.all()) {
    EXPECT_EQ(one.code, "O1240");
    problems.push_back(one.message);
  }
  return problems;
}

TEST(CatalogueTables, ABrokenTableIsAnErrorAtItsPlace) {
  using ::testing::ElementsAre;
  EXPECT_THAT(problems(""), ElementsAre("this table is empty"));
  EXPECT_THAT(problems("class,action,energy,area,basis\n"), ElementsAre("this table has no column `source`"));
  EXPECT_THAT(problems("class,action,energy,area,basis,source\na,b,1,1,published\n"),
              ElementsAre("5 cells for 6 columns"));
  EXPECT_THAT(problems("class,action,energy,area,basis,source\na,b,x,-1,guessed,\n"),
              ElementsAre("`x` is not a number that is not negative", "`-1` is not a number that is not negative",
                          "`guessed` is not a basis: published, modelled, measured or assumed",
                          "a cell is empty that must not be"));
}

TEST(CatalogueTables, EveryFileOfFiguresNamesItsSource) {
  for (const char* name : {"node_energy", "node_area", "dram", "accelergy_library", "aladdin", "published"}) {
    std::ifstream in(std::string(ORRERY_SOURCE_DIR "/catalog/tables/") + name + ".csv");
    std::stringstream text;
    text << in.rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("source")) << name;
  }
}

TEST(CatalogueTables, ScalingOfTheGoldensIsTheirs) {
  for (const auto& [golden, ours] :
       {std::pair{"tech_scaling_energy", "node_energy"}, {"tech_scaling_area", "node_area"}}) {
    std::ifstream theirs(std::string(ORRERY_SOURCE_DIR "/../shared/goldens/energy/") + golden + ".csv");
    if (!theirs) GTEST_SKIP() << "shared goldens are not beside this checkout";
    std::ifstream mine(std::string(ORRERY_SOURCE_DIR "/catalog/tables/") + ours + ".csv");
    std::vector<std::string> expected;
    std::vector<std::string> found;
    std::string line;
    std::getline(theirs, line);
    while (std::getline(theirs, line)) expected.push_back(line);
    while (std::getline(mine, line))
      if (line[0] != '#' && line[0] != 'n') found.push_back(line);
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace orrery::formats::accelergy
