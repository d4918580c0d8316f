#include "orrery/inputs/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

const std::string kDirectory = ORRERY_SOURCE_DIR "/catalog";

using base::codes, base::refused, base::Codes, base::Folder;

TEST(Catalogue, ListsTheShippedChipsWithTitlesAndSources) {
  std::set<std::string> names;
  for (const Entry& entry : list_chips(kDirectory)) {
    names.insert(entry.name);
    EXPECT_FALSE(entry.title.empty()) << entry.name;
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_FALSE(entry.sources.empty()) << entry.name;
    EXPECT_FALSE(entry.figures.empty()) << entry.name;
  }
  for (const char* name : {"eyeriss", "gemmini", "pim", "simba", "tpu", "factorflow-eyeriss", "factorflow-gemmini",
                           "factorflow-simba", "factorflow-tpu", "edge-npu", "tpu-v4i", "many-core"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Catalogue, ListsTheShippedModelsWithTitlesAndSources) {
  const std::vector<Entry> models = list_models(kDirectory);
  EXPECT_FALSE(models.empty());
  for (const Entry& entry : models) {
    EXPECT_FALSE(entry.title.empty()) << entry.name;
    EXPECT_GE(entry.sources.size(), 4u) << entry.name;
  }
}

TEST(Catalogue, ChipsSendNormalisationsToTheirUnit) {
  for (const char* name : {"eyeriss", "gemmini", "pim", "simba", "tpu"}) {
    const ChipFile chip = load_chip(kDirectory, name);
    EXPECT_EQ(chip.for_role(workload::OperatorRole::kMatmul).entry.name, name);
    EXPECT_EQ(chip.for_role(workload::OperatorRole::kNormalisation).entry.name, std::string(name) + "_norm");
  }
}

TEST(Catalogue, AChipWithoutAUnitRunsNormalisationsItself) {
  const ChipFile chip = load_chip(kDirectory, "gemmini_norm");
  EXPECT_EQ(&chip.for_role(workload::OperatorRole::kNormalisation), &chip);
}

TEST(Catalogue, UnknownNamesComeWithTheNearestAndTheList) {
  auto found = refused([] { load_chip(kDirectory, "gemini"); });
  ASSERT_EQ(codes(found), Codes{"O1111"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `gemmini`?");
  EXPECT_NE(found[0].notes.at(0).find("eyeriss"), std::string::npos);
  found = refused([] { load_model(kDirectory, "bert-larg"); });
  ASSERT_EQ(codes(found), Codes{"O1112"});
  EXPECT_EQ(found[0].hints.at(0), "did you mean `bert-large`?");
}

TEST(Catalogue, FilesThatAreNotThereAreSaidToBeMissing) {
  EXPECT_EQ(codes(refused([] { load_chip(kDirectory, "no/such/chip.yaml"); })), Codes{"O0100"});
  EXPECT_EQ(codes(refused([] { load_model(kDirectory, "config.json"); })), Codes{"O0100"});
}

TEST(Catalogue, AUsersFilesNeedNoBlockAndNoSources) {
  const Folder folder;
  const std::string chip_path = folder.write("mine.yaml", "architecture: {version: 0.4, nodes: []}\n");
  const ChipFile chip = load_chip(kDirectory, chip_path);
  EXPECT_EQ(chip.entry.title, chip_path);
  EXPECT_EQ(chip.normalisation, nullptr);
  const std::string model_path = folder.write("config.json", R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 1,
    "n_head": 2, "n_head": 4, "vocab_size": 9, "_name_or_path": "tiny"})");
  const ModelFile model = load_model(kDirectory, model_path);
  EXPECT_EQ(model.entry.title, "tiny");
  EXPECT_EQ(std::get<workload::Attention>(model.transformer.decoder().kinds.front().mixer).heads, 4);
  EXPECT_EQ(model.diagnostics.all().size(), 1u) << "the duplicate key is a warning";
}

TEST(Catalogue, AUsersChipMayNameAUnitOfTheCatalogueOrAFileBesideIt) {
  const Folder folder;
  folder.write("unit.yaml", "orrery: {title: unit}\n");
  const std::string own = folder.write("own.yaml", "orrery: {title: own, normalisation: unit.yaml}\n");
  EXPECT_EQ(load_chip(kDirectory, own).normalisation->entry.title, "unit");
  const std::string shared = folder.write("shared.yaml", "orrery: {title: shared, normalisation: pim_norm}\n");
  EXPECT_EQ(load_chip(kDirectory, shared).normalisation->entry.name, "pim_norm");
  const std::string wrong = folder.write("wrong.yaml", "orrery:\n  title: wrong\n  normalisation: pim_nrom\n");
  const auto found = refused([&] { load_chip(kDirectory, wrong); });
  ASSERT_EQ(codes(found), Codes{"O1114"});
  EXPECT_EQ(found[0].primary.where.line, 3);
  EXPECT_EQ(found[0].hints.at(0), "did you mean `pim_norm`?");
}

TEST(Catalogue, TheBlocksMistakesAreReportedTogether) {
  const Folder folder;
  const std::string path = folder.write("mine.yaml", R"(orrery:
  titel: no title
  sources: {cacti: CACTI 7}
  figures: {DRAM: {energy: cact}, SRAM: cacti}
)");
  const auto found = refused([&] { load_chip(kDirectory, path); });
  EXPECT_EQ(codes(found), Codes(4, "O1113"));
  EXPECT_EQ(found[0].hints.at(0), "did you mean `title`?");
}

const std::string kCited = R"(orrery:
  title: one store
  sources: {book: a book}
  figures: {DRAM: {shape: book, energy: book, bandwidth: book}, MAC: {shape: book}}
architecture:
  nodes:
  - !Container {name: System}
  - !Component {name: DRAM, class: DRAM, attributes: {read_bandwidth: 4}}
  - !Component {name: MAC, class: intmac}
ERT: {tables: [{name: "System.DRAM[1..1]", actions: [{name: read, energy: 1}]}]}
)";

TEST(Catalogue, ACatalogueChipHasASourceForEachFigureAndNoDuplicateKey) {
  const Folder folder;
  folder.write("chips/one.yaml", kCited);
  EXPECT_EQ(list_chips(folder.string()).size(), 1u);
  folder.write("chips/one.yaml", kCited + R"(ART: {tables: [{name: "System.DRAM[1..1]", area: 1}]})");
  auto found = refused([&] { list_chips(folder.string()); });
  ASSERT_EQ(codes(found), Codes{"O1115"});
  EXPECT_EQ(found[0].message, "the area of `DRAM` has no source");
  folder.write("chips/one.yaml", kCited + "mapper: {a: 1, a: 2}\n");
  EXPECT_EQ(codes(refused([&] { list_chips(folder.string()); })), Codes{"O0102"});
  folder.write("chips/one.yaml", "architecture: {nodes: []}\n");
  EXPECT_EQ(codes(refused([&] { list_chips(folder.string()); })), Codes{"O1115"});
}

TEST(Catalogue, ThePlaceIsTheVariablesElseBesideTheBinaryElseInTheCheckoutForABuildFoldersProgram) {
  const Folder folder;
  folder.add("chips/none", "").add("models/none", "");
  ::setenv("ORRERY_CATALOG", folder.string().c_str(), 1);
  EXPECT_EQ(catalogue_directory(), folder.string());
  ::setenv("ORRERY_CATALOG", "/no/such/folder", 1);
  EXPECT_EQ(codes(refused([] { catalogue_directory(); })), Codes{"O1110"});
  ::unsetenv("ORRERY_CATALOG");
  EXPECT_TRUE(fs::exists(fs::path(catalogue_directory()) / "chips/gemmini.yaml"));
}

}  // namespace
}  // namespace orrery::verbs
