#include "orrery/formats/timeloop/documents/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::shared_ptr<const base::SourceFile>>;
using base::replaced, base::source;

const char* const kArchitecture =
    "architecture:\n"
    "  version: 0.4\n"
    "  nodes:\n"
    "  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}\n"
    "  - !Component {name: Buffer, class: SRAM, attributes: {depth: SIZE, width: 16, datawidth: 8}}\n"
    "  - !Component {name: MAC, class: intmac}\n";
const char* const kVariables = "variables: {version: 0.4, SIZE: 64, N: 8}\n";
const char* const kProblem =
    "problem:\n"
    "  version: 0.4\n"
    "  shape:\n"
    "    name: mm\n"
    "    dimensions: [D, E, L]\n"
    "    data_spaces:\n"
    "    - {name: Weights, projection: [[[E]], [[D]]]}\n"
    "    - {name: Inputs, projection: [[[E]], [[L]]]}\n"
    "    - {name: Outputs, projection: [[[D]], [[L]]], read_write: true}\n"
    "  instance: {D: N, E: 4, L: 2}\n";
const char* const kTables =
    "ERT:\n"
    "  version: 0.4\n"
    "  tables:\n"
    "  - name: Sys.DRAM[1..1]\n"
    "    actions: [{name: read, energy: 8}, {name: write, energy: 9}, {name: update, energy: 7}]\n"
    "  - name: Sys.Buffer[1..1]\n"
    "    actions: [{name: read, arguments: {a: 0}, energy: 1}, {name: read, arguments: {a: 1}, energy: 2},\n"
    "              {name: write, energy: 3}, {name: leak, energy: 0.5}]\n"
    "  - name: Sys.MAC[1..1]\n"
    "    actions: [{name: mac_random, energy: 0.25}, {name: leak, energy: 0.125}]\n"
    "ART:\n"
    "  version: 0.4\n"
    "  tables: [{name: Sys.DRAM, area: 0}, {name: Sys.Buffer, area: 10}, {name: Sys.MAC, area: 2}]\n";

Files small() {
  return {source(kArchitecture, "arch.yaml"), source(kVariables, "variables.yaml"), source(kProblem, "problem.yaml"),
          source(kTables, "tables.yaml")};
}

Specification read(const Files& files, const ReadOptions& options = {}) {
  return Documents::gather(files, options).read();
}

// Codes of all diagnostics, errors and warnings.
std::string codes(const Files& files, const ReadOptions& options = {}) {
  std::vector<base::Diagnostic> found;
  try {
    found = read(files, options).diagnostics.all();
  } catch (const base::InputError& error) {
    found = error.diagnostics;
  }
  std::string all;
  for (const auto& diagnostic : found) all += (all.empty() ? "" : " ") + diagnostic.code;
  return all;
}

TEST(Documents, AChipAProblemAndItsTablesComeTogether) {
  const Specification specification = read(small());
  EXPECT_TRUE(specification.diagnostics.all().empty());
  ASSERT_TRUE(specification.chip && specification.problem);
  const auto& chip = *specification.chip;
  ASSERT_EQ(chip.storages.size(), 2u);
  EXPECT_EQ(chip.storages[0].energy.read_pj, 2);  // the largest over arguments
  EXPECT_EQ(chip.storages[0].energy.write_pj, 3);
  EXPECT_EQ(chip.storages[0].energy.update_pj, 3);  // falls back on write
  EXPECT_EQ(chip.storages[0].energy.leak_pj_per_cycle, 0.5);
  EXPECT_EQ(chip.storages[0].area_um2, 10);
  EXPECT_EQ(chip.storages[1].energy.update_pj, 7);
  EXPECT_EQ(chip.compute.compute_pj, 0.25);
  EXPECT_EQ(chip.compute.leak_pj_per_cycle, 0.125);
  EXPECT_EQ(specification.problem->einsum.dimensions[0].bound, 8);
  EXPECT_TRUE(specification.has_energy_tables);
  ASSERT_EQ(specification.inputs.size(), 4u);
  EXPECT_EQ(specification.inputs[0].hash.size(), 32u);
}

TEST(Documents, TheOrderOfFilesChangesNothing) {
  Files files = small();
  files.push_back(
      source("constraints: {version: 0.4, targets: [{target: Buffer, type: temporal, factors: [D=2]}]}\n", "c1.yaml"));
  files.push_back(source("constraints: {version: 0.4, targets: [{target: Buffer, type: dataspace, keep: [Weights]}]}\n",
                         "c2.yaml"));
  const Specification first = read(files);
  const std::size_t count = first.problem->space.constraints.size();
  ASSERT_GE(count, 2u);
  std::sort(files.begin(), files.end());
  do {
    const Specification other = read(files);
    ASSERT_EQ(other.problem->space.constraints.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(other.problem->space.constraints[i].text, first.problem->space.constraints[i].text);
    }
    EXPECT_EQ(other.inputs, first.inputs);
    EXPECT_EQ(other.chip->storages[0].capacity_words, first.chip->storages[0].capacity_words);
  } while (std::next_permutation(files.begin(), files.end()));
}

TEST(Documents, AnotherEinsumMayRunOnTheSameDocuments) {
  const Documents documents = Documents::gather({small()[0], small()[1], small()[3]}, {});
  EXPECT_FALSE(documents.read().problem.has_value());
  const Specification specification = documents.read_for(workload::matmul("mm", 4, 4, 4));
  ASSERT_TRUE(specification.problem.has_value());
  EXPECT_EQ(specification.problem->einsum.operations(), 64);
}

TEST(Documents, OverridesReplaceAnyValue) {
  ReadOptions options;
  options.overrides = {{"variables.N", "16"},
                       {"architecture.nodes.Buffer.attributes.depth", "SIZE * 2"},
                       {"ERT.tables.MAC.actions.leak.energy", "4"},
                       {"problem.instance.L", "6"}};
  // The name in the ERT is dotted, so its entry is addressed by index there.
  options.overrides[2].path = "ERT.tables.2.actions.leak.energy";
  const Specification specification = read(small(), options);
  EXPECT_EQ(specification.problem->einsum.dimensions[0].bound, 16);
  EXPECT_EQ(specification.problem->einsum.dimensions[2].bound, 6);
  EXPECT_EQ(specification.chip->storages[0].capacity_words, 256);
  EXPECT_EQ(specification.chip->compute.leak_pj_per_cycle, 4);
}

TEST(Documents, ANodeOfTheChipHasAShortPathToItsAttributesAndItsMesh) {
  ReadOptions full, brief;
  full.overrides = {{"architecture.nodes.Buffer.attributes.depth", "32"}};
  brief.overrides = {{"arch.Buffer.depth", "32"}};
  EXPECT_EQ(read(small(), brief).chip->storages[0].capacity_words,
            read(small(), full).chip->storages[0].capacity_words);
  EXPECT_NE(read(small(), brief).chip->storages[0].capacity_words, read(small(), {}).chip->storages[0].capacity_words);
  brief.overrides = {{"arch.Bufer.depth", "32"}};
  const auto errors = base::refused([&] { read(small(), brief); });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.at(0).code, "O0111");
  EXPECT_EQ(errors.at(0).hints.at(0), "did you mean `Buffer`?");
  EXPECT_EQ(errors.at(0).primary.where.column, 6);
  brief.overrides = {{"arch.Buffer.dept", "32"}};
  EXPECT_EQ(base::refused([&] { read(small(), brief); }).at(0).primary.where.column, 13);
}

TEST(Documents, AnOverrideOfWhatIsNotThereSaysWhatIs) {
  ReadOptions options;
  options.overrides = {{"variables.SIZ", "16"}};
  const auto errors = base::refused([&] { read(small(), options); });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.at(0).code, "O0111");
  EXPECT_EQ(errors.at(0).hints.at(0), "did you mean `SIZE`?");
  EXPECT_EQ(errors.at(0).primary.where.column, 11);
  options.overrides = {{"nothing", "1"}};
  EXPECT_EQ(codes(small(), options), "O0111");
  options.overrides = {{"variables.SIZE", "[1"}};
  EXPECT_EQ(codes(small(), options), "O0111");
}

// As the templates of CiMLoop make them of the files that they include.
TEST(Documents, AListOfMapsOfVariablesIsOneMap) {
  Files files = small();
  files[1] = source("variables: [{version: 0.4}, [{SIZE: 64, N: null}, {}], {N: HALF*2, HALF: 4, version: 0.4}]\n",
                    "variables.yaml");
  const Specification list = read(files), map = read(small());
  EXPECT_EQ(list.problem->einsum.dimensions[0].bound, 8);
  EXPECT_EQ(list.chip->storages[0].capacity_words, map.chip->storages[0].capacity_words);
  files[1] = source("variables: [{SIZE: 64, N: 8}, {N: 4}]\n", "variables.yaml");
  EXPECT_EQ(base::codes_of([&] { read(files); }), base::Codes{"O0110"});
  files[1] = source("variables: [{SIZE: 64, N: 8}, ROWS]\n", "variables.yaml");
  EXPECT_EQ(base::codes_of([&] { read(files); }), base::Codes{"O0115"});
}

TEST(Documents, AFileOfNonzerosIsAnInput) {
  const base::Folder folder;
  folder.write("places.txt", "0, 0\n1, 3\n");
  Files files = small();
  files[0] = source(replaced(kArchitecture, "{depth: SIZE, width: 16, datawidth: 8}}",
                             "{depth: SIZE, width: 16, datawidth: 8}, sparse_optimizations: {action_optimization: "
                             "[{type: gating, target: Inputs, condition_on: [Weights]}]}}"),
                    "arch.yaml");
  files[2] = source(replaced(kProblem, "L: 2}", "L: 2, densities: {Weights: {distribution: table, file: places.txt}}}"),
                    folder.string() + "/problem.yaml");
  ReadOptions options;
  options.templates.folders = {folder.string()};
  const auto inputs = read(files, options).inputs;
  EXPECT_EQ(std::count_if(inputs.begin(), inputs.end(),
                          [](const base::Input& one) { return one.name.ends_with("places.txt"); }),
            1);
}

TEST(Documents, AnOverrideMayAddAttributesAndVariablesAndSaysSo) {
  ReadOptions options;
  options.overrides = {{"architecture.nodes.Buffer.attributes.multiple_buffering", "2"},
                       {"variables.FRESH", "12"},
                       {"problem.instance.L", "FRESH"}};
  const Specification specification = read(small(), options);
  EXPECT_EQ(specification.chip->storages[0].multiple_buffering, 2);
  EXPECT_EQ(specification.problem->einsum.dimensions[2].bound, 12);
  int notes = 0;
  for (const base::Diagnostic& diagnostic : specification.diagnostics.all()) {
    if (diagnostic.code != "O0116") continue;
    ++notes;
    EXPECT_EQ(diagnostic.severity, base::Severity::kNote);
    EXPECT_EQ(diagnostic.primary.where.file->name, "<--set>");
  }
  EXPECT_EQ(notes, 2);
}

TEST(Documents, AVariableThatNothingReadsIsRefusedWhereItResemblesAnotherAndElseWarnedOf) {
  ReadOptions options;
  for (const char* path : {"variables.SIZE_OF", "variables.SIZ"}) {
    options.overrides = {{path, "16"}};
    EXPECT_EQ(codes(small(), options), "O0111") << path;
  }
  options.overrides = {{"variables.FRESH", "12"}};
  const Specification specification = read(small(), options);
  ASSERT_EQ(specification.diagnostics.all().size(), 1u);
  EXPECT_EQ(specification.diagnostics.all()[0].code, "O0118");
  EXPECT_EQ(specification.diagnostics.all()[0].severity, base::Severity::kWarning);
  options.overrides = {{"variables.SIZE_OF", "16"}, {"problem.instance.L", "SIZE_OF"}};  // read, so no slip
  EXPECT_EQ(read(small(), options).diagnostics.all().at(0).code, "O0116");
}

TEST(Documents, AnOverrideAddsNeitherASlipNorAKeyOfAClosedMap) {
  for (const char* path : {"architecture.nodes.Buffer.attributes.dept", "problem.instance.Q", "problem.shape.colour",
                           "architecture.nodes.Buffer.attributes.fresh.deeper", "architecture.nodes.Buffer.fresh"}) {
    ReadOptions options;
    options.overrides = {{path, "1"}};
    EXPECT_EQ(codes(small(), options), "O0111") << path;
  }
}

TEST(Documents, MistakesInAnOverridePointIntoIt) {
  ReadOptions options;
  options.overrides = {{"architecture.nodes.Buffer.attributes.depth", "64KB"}};
  const auto errors = base::refused([&] { read(small(), options); });
  EXPECT_EQ(errors.at(0).code, "O0212");
  EXPECT_EQ(errors.at(0).primary.where.file->name, "<--set>");
  EXPECT_EQ(errors.at(0).primary.where.column, 44);
}

TEST(Documents, WhatTwoFilesGiveIsShownInBoth) {
  Files files = small();
  files.push_back(source("problem: {version: 0.4}\n", "more.yaml"));
  const auto errors = base::refused([&] { read(files); });
  const auto& diagnostic = errors.at(0);
  EXPECT_EQ(diagnostic.code, "O0110");
  EXPECT_EQ(diagnostic.primary.where.file->name, "problem.yaml");
  EXPECT_EQ(diagnostic.secondary.at(0).where.file->name, "more.yaml");
  files.back() = source("variables: {version: 0.4, SIZE: 65}\n", "more.yaml");
  EXPECT_EQ(codes(files), "O0110");
  files.back() = source("variables: {version: 0.4, SIZE: 64, M: 3}\n", "more.yaml");
  EXPECT_EQ(codes(files), "");
}

TEST(Documents, EveryMistakeHasItsCode) {
  const auto with = [](std::size_t index, const std::string& from, const std::string& to) {
    Files files = small();
    files[index] = source(replaced(files[index]->text, from, to), files[index]->name);
    return files;
  };
  Files files = small();
  files.push_back(source("varables: {}\n", "x.yaml"));
  EXPECT_EQ(codes(files), "O0112");
  files.back() = source("ERT_summary: {version: 0.4}\nART_summary: {version: 0.4}\n", "x.yaml");
  EXPECT_EQ(codes(files), "");
  files.back() = source("- a list\n", "x.yaml");
  EXPECT_EQ(codes(files), "O0114");
  EXPECT_EQ(codes({source("variables: [1]\n", "v.yaml")}), "O0115");
  EXPECT_EQ(codes({small()[0], small()[1], small()[2]}), "O0601");
  EXPECT_EQ(codes({small()[0], small()[1]}, {{}, false}), "");
  EXPECT_EQ(codes(with(3, "Sys.Buffer[1..1]", "Sys.Bufer[1..1]")), "O0602 O0605");
  EXPECT_EQ(codes(with(3, "name: mac_random", "name: multiply")), "O0603");
  EXPECT_EQ(codes(with(3, "tables:\n", "tabels:\n")).substr(0, 5), "O0604");
  EXPECT_EQ(codes(with(3, "energy: 9", "energi: 9")), "O0604");
  EXPECT_EQ(codes(with(3, "energy: 9", "energy: -9")), "O0606");
  EXPECT_EQ(codes(with(3, "energy: 9", "energy: .inf")), "O0606");
  EXPECT_EQ(codes(with(3, "energy: 9", "energy: lots")), "O0201");
  EXPECT_EQ(codes(with(3, "Sys.Buffer[1..1]", "Sys.DRAM[1..1]")), "O0607 O0602");
  EXPECT_EQ(codes(with(3, "{name: Sys.Buffer, area: 10}, ", "")), "O0608");
  EXPECT_EQ(codes(with(0, "depth: SIZE", "depth: 1, depth: 2")), "O0102");
  EXPECT_EQ(codes(with(0, "depth: SIZE", "depth: SIZE, n_banks: null, read_bandwidth: ~")), "O0331 O0331");
  EXPECT_EQ(codes(with(0, "depth: SIZE", "depth: SIZE, mine: null")), "O0330");
}

TEST(Documents, AMissingEntryNamesTheNearest) {
  Files files = small();
  files[3] = source(replaced(kTables, "Sys.Buffer[1..1]", "Sys.Bufer[1..1]"), "tables.yaml");
  const auto errors = base::refused([&] { read(files); });
  EXPECT_EQ(errors.at(0).code, "O0602");
  EXPECT_EQ(errors.at(0).hints.at(0), "did you mean `Bufer`?");
}

TEST(Documents, UserEnergiesNeedNoTableEntry) {
  Files files = small();
  files[0] = source(replaced(kArchitecture, "depth: SIZE", "depth: SIZE, vector_access_energy: 3"), "arch.yaml");
  files[3] = source(replaced(kTables, "Sys.Buffer[1..1]", "Sys.wire"), "tables.yaml");
  const Specification specification = read(files);
  const auto& buffer = specification.chip->storages[0];
  EXPECT_TRUE(buffer.energy_from_user);
  EXPECT_EQ(buffer.energy.read_pj, 3);
  EXPECT_EQ(buffer.energy.leak_pj_per_cycle, 0);
}

struct Folder : base::Folder {
  std::shared_ptr<const base::SourceFile> read(const std::string& name) const {
    return yaml::read_file((path() / name).string());
  }
};

TEST(Documents, TemplatesTakeValuesFromOtherFiles) {
  const Folder folder;
  folder.write("inputs/arch.yaml", kArchitecture);
  folder.write("inputs/variables.yaml", replaced(kVariables, "64", "{{size|default(32)}}"));
  folder.write("inputs/problem.yaml", kProblem);
  folder.write("top.yaml.jinja",
               "{{add_to_path(cwd() ~ '/inputs')}}\n{# nothing #}\n"
               "architecture: {{include('arch.yaml', 'architecture')}}\n"
               "variables: {{ include('variables.yaml', 'variables') }}\n"
               "problem: {{include(problem|default('problem.yaml'), 'problem')}}\n");
  const Specification specification = read({folder.read("top.yaml.jinja"), small()[3]});
  EXPECT_EQ(specification.chip->storages[0].capacity_words, 64);
  EXPECT_EQ(specification.problem->einsum.dimensions[0].bound, 8);
  EXPECT_EQ(specification.inputs.size(), 5u);
  EXPECT_EQ(fs::path(specification.chip->compute.where.file->name).filename(), "arch.yaml");
}

TEST(Documents, OtherTemplateTextIsAnErrorWithItsPlace) {
  const Folder folder;
  folder.write("loop.yaml", "variables: {{include('loop.yaml', 'variables')}}\n");
  folder.write("missing.yaml", "variables: {{include('nowhere.yaml')}}\n");
  folder.write("key.yaml", "variables: {{include('other.yaml', 'variabels')}}\n");
  folder.write("other.yaml", kVariables);
  EXPECT_EQ(codes({folder.read("loop.yaml")}), "O0113");
  EXPECT_EQ(codes({folder.read("missing.yaml")}), "O0100");
  EXPECT_EQ(codes({folder.read("key.yaml")}), "O0113");
  EXPECT_EQ(codes({source("variables: {{ name }}\n", "t.yaml")}), "O0113");
  EXPECT_EQ(codes({source("{% for x in y %}\n{% endfor %}\n", "t.yaml")}), "O0113");
  EXPECT_EQ(codes({source("variables: {{ open\n", "t.yaml")}), "O0113");
  const auto errors = base::refused([&] { read({source("a: 1\nvariables: {{ f(x) }}\n", "t.yaml")}); });
  EXPECT_EQ(errors.at(0).primary.where.line, 2);
  EXPECT_EQ(errors.at(0).primary.where.column, 15);
}

std::string text_of(const base::InputError& error) {
  std::string all;
  for (const auto& diagnostic : error.diagnostics) {
    if (diagnostic.severity != base::Severity::kError) continue;
    all +=
        diagnostic.code + " " + diagnostic.message + " at line " + std::to_string(diagnostic.primary.where.line) + "\n";
  }
  return all;
}

TEST(DocumentsOfUsers, EveryGoldenIsRead) {
  ORRERY_NEEDS_SHARED();
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(base::kShared / "goldens" / "nest")) {
    if (entry.path().filename() != "input.yaml") continue;
    Files files;
    for (const char* name : {"input.yaml", "ERT.yaml", "ART.yaml"}) {
      const fs::path file = entry.path().parent_path() / name;
      if (fs::exists(file)) files.push_back(yaml::read_file(file.string()));
    }
    const fs::path mapping = entry.path().parent_path() / "map.yaml";
    if (fs::exists(mapping)) files.push_back(yaml::read_file(mapping.string()));
    try {
      const Specification specification = read(files);
      EXPECT_TRUE(specification.chip && specification.problem) << entry.path();
      const bool has_mapping = files.front()->text.find("\nmapping:\n") != std::string::npos || fs::exists(mapping);
      EXPECT_EQ(specification.mapping.has_value(), has_mapping) << entry.path();
    } catch (const base::InputError& error) {
      ADD_FAILURE() << entry.path() << "\n" << text_of(error);
    }
    ++count;
  }
  EXPECT_GE(count, 11);
}

// Architecture, constraints, one layer, mapper and variables, as the original scripts combine them.
void read_all_layers(const std::string& project, const std::string& arch, const std::string& constraints) {
  const fs::path root = base::kShared / "seeds" / "timeloop-experiments" / project;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(root / "layers")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    Files files;
    for (const fs::path& file : {root / arch, root / constraints, root / "mapper" / "mapper.yaml",
                                 root / "mapper" / "variables.yaml", entry.path()}) {
      files.push_back(yaml::read_file(file.string()));
    }
    for (const auto& component : fs::directory_iterator((root / arch).parent_path() / "components")) {
      files.push_back(yaml::read_file(component.path().string()));
    }
    try {
      const Specification specification = read(files, {{}, false});
      EXPECT_TRUE(specification.chip && specification.problem) << entry.path();
    } catch (const base::InputError& error) {
      ADD_FAILURE() << entry.path() << "\n" << text_of(error);
    }
  }
  EXPECT_GT(count, 0) << root;
}

// One chip with its constraints, for one layer.
void read_one(const std::string& project, const std::vector<std::string>& names) {
  const fs::path root = base::kShared / "seeds" / "timeloop-experiments" / project;
  Files files;
  for (const std::string& name : names) files.push_back(yaml::read_file((root / name).string()));
  try {
    const Specification specification = read(files, {{}, false});
    EXPECT_TRUE(specification.chip && specification.problem) << names.front();
  } catch (const base::InputError& error) {
    ADD_FAILURE() << names.front() << "\n" << text_of(error);
  }
}

TEST(DocumentsOfUsers, TheOtherChipsOfTransformerGemminiAreReadWithTheirConstraints) {
  ORRERY_NEEDS_SHARED();
  const std::string variables = "mapper/variables.yaml";
  for (const char* layer : {"layers/softmax_layer.yaml", "layers/layernorm_layer.yaml"}) {
    read_one("transformer_gemmini",
             {"arch/system_gemmini_NOs.yaml", "constraints/constraints_NOs.yaml", variables, layer});
    read_one("transformer_pim",
             {"arch_v0.4/system_PIM_NOs.yaml", "constraints_v0.4/constraints_NOs.yaml", variables, layer});
  }
  for (const char* chip : {"eyeriss", "simba", "tpu"}) {
    read_one("transformer_gemmini",
             {"arch/system_" + std::string(chip) + ".yaml", "constraints/constraints_" + std::string(chip) + ".yaml",
              variables, "layers/KQV_layer.yaml"});
  }
  read_one("transformer_gemmini", {"arch/system_gemmini_realistic.yaml", variables, "layers/KQV_layer.yaml"});
  read_one("transformer_pim",
           {"arch/system_PIM.yaml", "constraints/constraints.yaml", variables, "layers/KQV_layer.yaml"});
}

TEST(DocumentsOfUsers, TheTemplateOfTransformerOsGemminiIsExpanded) {
  ORRERY_NEEDS_SHARED();
  const fs::path top = base::kShared / "seeds" / "timeloop-experiments" / "transformer_os_gemmini" / "top.yaml.jinja";
  try {
    const Specification specification = read({yaml::read_file(top.string())}, {{}, false});
    ASSERT_TRUE(specification.chip && specification.problem);
    EXPECT_EQ(specification.chip->compute.instances, 256);
    EXPECT_EQ(specification.chip->storages.back().word_bits, 16);
  } catch (const base::InputError& error) {
    ADD_FAILURE() << text_of(error);
  }
}

TEST(DocumentsOfUsers, TransformerGemminiIsReadAsItIs) {
  ORRERY_NEEDS_SHARED();
  read_all_layers("transformer_gemmini", "arch/system_gemmini.yaml", "constraints/constraints.yaml");
}

TEST(DocumentsOfUsers, TransformerPimIsReadAsItIs) {
  ORRERY_NEEDS_SHARED();
  read_all_layers("transformer_pim", "arch_v0.4/system_PIM.yaml", "constraints_v0.4/constraints.yaml");
}

}  // namespace
}  // namespace orrery::formats::timeloop
