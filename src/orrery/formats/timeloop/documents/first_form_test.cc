// Timeloop's first documents: libconfig, chips as lists of storages, and what goes with them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/documents/documents.h"

namespace orrery::formats::timeloop {
namespace {

using base::replaced, base::source;

const std::string kChip = R"(
arch : {
  arithmetic : { instances = 256; word_bits = 16; meshX = 16; };
  storage = (
    { name = "RegisterFile"; entries = 256; instances = 256; meshX = 16; word_bits = 16; },
    { name = "GlobalBuffer"; sizeKB = 128; instances = 1; word_bits = 16; block-size = 4; },
    { name = "DRAM"; technology = "DRAM"; instances = 1; word_bits = 16; bandwidth = 10.0; }
  );
};
)";
const std::string kFirstFormProblem =
    "problem : { R = 1; S = 1; P = 56; Q = 56; C = 2; K = 256; N = 1; Wstride = 1; };\n";

Specification read_first_form(const std::string& text, const std::string& name = "old.cfg") {
  return Documents::gather({source(text, name)}, {}).read();
}

bool said(const Specification& specification, const char* code) {
  for (const base::Diagnostic& diagnostic : specification.diagnostics.all())
    if (diagnostic.code == code) return true;
  return false;
}

TEST(FirstForm, StoragesAreLevelsInnermostFirst) {
  const Specification all = read_first_form(kChip + kFirstFormProblem);
  const machine::Chip& chip = *all.chip;
  ASSERT_EQ(chip.storages.size(), 3u);
  EXPECT_EQ(chip.storages[0].name, "RegisterFile");
  EXPECT_EQ(chip.storages[0].capacity_words, 256);
  EXPECT_EQ(chip.storages[0].mesh_x, 16);
  EXPECT_EQ(chip.storages[0].mesh_y, 16);
  EXPECT_EQ(chip.storages[1].capacity_words, 65536);
  EXPECT_EQ(chip.storages[1].block_size, 4);
  EXPECT_TRUE(chip.storages[2].is_dram);
  EXPECT_EQ(chip.storages[2].read_words_per_cycle, 5);
  EXPECT_EQ(chip.compute.instances, 256);
}

// Ratios of Eyeriss: 1 at 0.5 KiB and 6 at 100 KiB for 16 bit, 200 at the DRAM, 1 a multiplication; all in proportion
// to the width of an access.
TEST(FirstForm, EnergiesAreRatiosToAMultiplicationOf16Bit) {
  const Specification all = read_first_form(kChip + kFirstFormProblem);
  EXPECT_DOUBLE_EQ(all.chip->storages[0].energy.read_pj, 1);
  EXPECT_NEAR(all.chip->storages[1].energy.write_pj, 4 * (1 + 5 * 127.5 / 99.5), 1e-12);
  EXPECT_DOUBLE_EQ(all.chip->storages[2].energy.update_pj, 200);
  EXPECT_DOUBLE_EQ(all.chip->compute.compute_pj, 1);
  EXPECT_TRUE(said(all, "O2032"));
  const Specification narrow = read_first_form(
      replaced(kChip, "instances = 256; word_bits = 16; meshX", "instances = 256; word_bits = 8; meshX") +
      kFirstFormProblem);
  EXPECT_DOUBLE_EQ(narrow.chip->compute.compute_pj, 0.25);
}

TEST(FirstForm, GivenEnergiesCount) {
  std::string text = replaced(kChip, "entries = 256;", "entries = 256; vector_access_energy = 0.5;");
  text = replaced(text, "sizeKB = 128;", "sizeKB = 128; vector_access_energy = 3;");
  text = replaced(text, "technology = \"DRAM\";", "technology = \"DRAM\"; vector_access_energy = 90;");
  text = replaced(text, "meshX = 16; };\n  storage", "meshX = 16; energy = 0.75; };\n  storage");
  const Specification all = read_first_form(text + kFirstFormProblem);
  EXPECT_DOUBLE_EQ(all.chip->storages[0].energy.read_pj, 0.5);
  EXPECT_DOUBLE_EQ(all.chip->storages[2].energy.read_pj, 90);
  EXPECT_DOUBLE_EQ(all.chip->compute.compute_pj, 0.75);
  EXPECT_FALSE(said(all, "O2032"));
}

TEST(FirstForm, SumsOfPicojoulesAndRatiosAreNamed) {
  const Specification all = read_first_form(
      replaced(kChip, "entries = 256;", "entries = 256; vector_access_energy = 0.5;") + kFirstFormProblem);
  const auto& warnings = all.diagnostics.all();
  const auto mixed =
      std::find_if(warnings.begin(), warnings.end(), [](const auto& one) { return one.code == "O2032"; });
  ASSERT_NE(mixed, warnings.end());
  EXPECT_TRUE(mixed->message.starts_with("sums mix pJ with ratios")) << mixed->message;
}

TEST(FirstForm, AProblemWithoutAShapeIsAConvolution) {
  const Specification all = read_first_form(kChip + kFirstFormProblem);
  EXPECT_EQ(all.problem->einsum.dimensions.size(), 7u);
  EXPECT_EQ(all.problem->einsum.operations(), 56 * 56 * 2 * 256);
  EXPECT_TRUE(said(all, "O2033"));
}

TEST(FirstForm, ConstraintsAreChosenByName) {
  const std::string lists = R"(
mapspace = { template = "uber"; constraints = "two";
  constraints_one = ( { target = "DRAM"; type = "temporal"; factors = "K1"; } );
  constraints_two = ( { target = "GlobalBuffer"; type = "datatype"; keep = [ "Inputs" ]; bypass = [ "Weights" ]; } ); };
)";
  const Specification all = read_first_form(kChip + kFirstFormProblem + lists);
  int of_buffer = 0;
  for (const nest::Constraint& one : all.problem->space.constraints)
    of_buffer += one.kind == nest::Constraint::Kind::kKeep && one.level == 1 ? 1 : 0;
  EXPECT_EQ(of_buffer, 2);
  EXPECT_FALSE(said(all, "O0513"));
  const base::Codes codes =
      base::codes_of([&] { read_first_form(kChip + kFirstFormProblem + replaced(lists, "\"two\"", "\"three\"")); });
  EXPECT_TRUE(std::find(codes.begin(), codes.end(), "O0500") != codes.end());
}

TEST(FirstForm, AMappingNamesLevelsByTheirNumbers) {
  const std::string mapping = R"(
mapping = ( { target = 0; type = "temporal"; factors = "P8 C2 K16"; permutation = "PCKRSQN"; },
            { target = 1; type = "spatial"; factors = "Q2 K8"; permutation = "QKRSPCN"; split = 0; },
            { target = 1; type = "temporal"; factors = "Q7 K2"; permutation = "KQRSPCN"; },
            { target = 2; type = "temporal"; factors = "P7 Q4"; permutation = "PQRSCKN"; } );
)";
  const Specification all = read_first_form(kChip + kFirstFormProblem + mapping);
  ASSERT_TRUE(all.mapping);
  const int p = all.problem->einsum.dimension_index("P");
  EXPECT_EQ(all.mapping->levels[0].temporal[p], 8);
  EXPECT_EQ(all.mapping->levels[2].temporal[p], 7);
}

TEST(FirstForm, ErrorsPointIntoTheFile) {
  try {
    read_first_form(replaced(kChip, "sizeKB = 128;", "sizeKB = -1;") + kFirstFormProblem);
    FAIL();
  } catch (const base::InputError& error) {
    const auto& found = error.diagnostics;
    const auto negative = std::find_if(found.begin(), found.end(), [](const auto& one) { return one.code == "O0321"; });
    ASSERT_NE(negative, found.end());
    EXPECT_EQ(negative->primary.where.line, 6);
    EXPECT_EQ(negative->primary.where.column, 39);
  }
  const base::Codes codes =
      base::codes_of([&] { read_first_form("arch = { storage = ( ); };\n" + kFirstFormProblem); });
  EXPECT_TRUE(std::find(codes.begin(), codes.end(), "O0302") != codes.end());
}

TEST(FirstForm, YamlSaysTheSame) {
  const std::string yaml =
      "arch:\n  arithmetic: {instances: 4, word_bits: 16}\n"
      "  storage: [{name: Buffer, sizeKB: 1}, {name: DRAM, technology: DRAM}]\n"
      "problem: {shape: cnn-layer, R: 1, S: 1, P: 4, Q: 4, C: 4, K: 4, N: 1}\n";
  EXPECT_EQ(read_first_form(yaml, "old.yaml").chip->storages.size(), 2u);
}

// `latency: 5ns` of version 0.2 and 0.3, and no clock at all.
TEST(FirstForm, TheClockOfAnOldDescriptionIsItsLatency) {
  const std::string chip =
      "architecture:\n  version: 0.3\n  subtree:\n  - name: chip\n    attributes: {technology: 45nm, latency: 2ns}\n"
      "    local:\n    - {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}\n"
      "    - {name: MAC, class: intmac, attributes: {datawidth: 16}}\n"
      "problem: {shape: cnn-layer, R: 1, S: 1, P: 4, Q: 4, C: 4, K: 4, N: 1}\n";
  EXPECT_DOUBLE_EQ(read_first_form(chip, "a.yaml").chip->cycle_seconds, 2e-9);
  EXPECT_TRUE(said(read_first_form(chip, "a.yaml"), "O2044"));
  const std::string without = replaced(chip, ", latency: 2ns", "");
  EXPECT_DOUBLE_EQ(read_first_form(without, "a.yaml").chip->cycle_seconds, 5e-9);
  EXPECT_TRUE(said(read_first_form(without, "a.yaml"), "O2044"));
  ReadOptions priced;
  priced.mapped = false;
  EXPECT_DOUBLE_EQ(Documents::gather({source(without, "a.yaml")}, priced).read().chip->cycle_seconds, 5e-9);
  EXPECT_EQ(base::codes_of([&] { read_first_form(replaced(chip, "0.3", "0.4"), "a.yaml"); }), base::Codes{"O0601"});
}

// As the mapper's own parser finds them, and whichever file of the description they stand in.
TEST(FirstForm, OfKeysGivenTwiceTheFirstCounts) {
  const std::string chip =
      "architecture:\n  version: 0.3\n  subtree:\n  - name: chip\n"
      "    attributes: {technology: 45nm, latency: 2ns, latency: 7ns}\n"
      "    local:\n    - {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 16}}\n"
      "    - {name: MAC, class: intmac, attributes: {datawidth: 16}}\n";
  const auto problem =
      source("problem: {shape: cnn-layer, R: 1, S: 1, P: 4, Q: 4, C: 4, K: 4, N: 1, N: 2}\n", "p.yaml");
  const Specification read = Documents::gather({source(chip, "a.yaml"), problem}, {}).read();
  EXPECT_DOUBLE_EQ(read.chip->cycle_seconds, 2e-9);
  EXPECT_TRUE(said(read, "O0102"));
  EXPECT_EQ(base::codes_of([&] { Documents::gather({problem}, {}); }), base::Codes{"O0102"});
}

// A folder of results may stand beside the chip's own files.
TEST(FirstForm, AFlattenedArchitectureGivesWayToTheOneItWasMadeOf) {
  const auto flat = source("architecture: {version: 0.4, local: [{name: a.B, class: SRAM}]}\n", "flat.yaml");
  for (const char* name : {"a.cfg", "z.cfg"}) {
    const Specification all = Documents::gather({source(kChip + kFirstFormProblem, name), flat}, {}).read();
    EXPECT_EQ(all.chip->storages.size(), 3u) << name;
  }
}

}  // namespace
}  // namespace orrery::formats::timeloop
