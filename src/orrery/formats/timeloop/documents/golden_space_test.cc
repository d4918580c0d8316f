// Raw v4 documents against what Timeloop's own front end made of them: the map spaces must mean the same.
#include <filesystem>
#include <map>
#include <set>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/constraints/constraints.h"
#include "orrery/formats/timeloop/constraints/mapping_document.h"
#include "orrery/formats/timeloop/documents/mapper.h"
#include "orrery/formats/timeloop/documents/problem.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Constraint;

const std::string kSeedProjects = base::kShared.string() + "/seeds/timeloop-experiments/";
const std::string kNestGoldens = base::kShared.string() + "/goldens/nest/";

struct Case {
  Architecture architecture;
  workload::Einsum einsum;
  nest::Mapspace space;
  base::Diagnostics found;
  std::vector<std::vector<yaml::Node>> files;

  const yaml::Node* find(const char* key) const {
    for (const auto& file : files)
      for (const yaml::Node& document : file)
        if (const yaml::Node* node = document.find(key)) return node;
    return nullptr;
  }
};

std::unique_ptr<Case> load(const std::vector<std::string>& paths, const std::string& extra_variables = "{}") {
  auto loaded = std::make_unique<Case>();
  for (const std::string& path : paths)
    loaded->files.push_back(yaml::parse(yaml::read_file(path), base::Severity::kWarning, loaded->found));
  Scope variables;
  if (const yaml::Node* given = loaded->find("variables")) variables.define_all(*given);
  const yaml::Node extra = testing::parse(extra_variables);
  Scope inner(&variables);
  inner.define_all(extra);
  loaded->architecture = read_architecture(*loaded->find("architecture"), inner, loaded->found);
  loaded->einsum = read_problem(*loaded->find("problem"), inner, loaded->found);
  std::vector<const yaml::Node*> lists;
  for (const char* key : {"constraints", "architecture_constraints", "mapspace_constraints", "mapspace"})
    if (const yaml::Node* node = loaded->find(key)) lists.push_back(node);
  loaded->space = read_constraints(lists, loaded->architecture, loaded->einsum, inner, loaded->found);
  return loaded;
}

// A map space as a set of texts that do not depend on how it was written: orders only where they bind two loops that
// may iterate, keeps and factors by name.
std::set<std::string> meaning(const Case& loaded) {
  const workload::Einsum& einsum = loaded.einsum;
  std::map<std::pair<int, bool>, std::set<int>> unit;
  for (const Constraint& c : loaded.space.constraints)
    if (c.kind == Constraint::Kind::kFactor && c.comparison == nest::Comparison::kEqual && c.value == 1)
      unit[{c.level, c.spatial}].insert(c.dimension);
  std::set<std::string> texts;
  for (const Constraint& c : loaded.space.constraints) {
    const std::string level =
        loaded.architecture.chip.storages[c.level].name + (c.spatial ? " spatial " : " temporal ");
    const auto iterates = [&](int d) {
      return einsum.dimensions[d].bound > 1 && !unit[std::make_pair(c.level, c.spatial)].count(d);
    };
    switch (c.kind) {
      case Constraint::Kind::kFactor:
        if (einsum.dimensions[c.dimension].bound > 1)
          texts.insert(fmt::format("{}{} {} {}", level, einsum.dimensions[c.dimension].name,
                                   static_cast<int>(c.comparison), c.value));
        break;
      case Constraint::Kind::kOrder: {
        std::string order;
        int loops = 0;
        for (int d : c.inner)
          if (iterates(d)) order += einsum.dimensions[d].name, ++loops;
        int all = 0;
        for (int d = 0; d < static_cast<int>(einsum.dimensions.size()); ++d) all += iterates(d);
        if (loops > 0 && all > 1) texts.insert(level + "order " + order);
        break;
      }
      case Constraint::Kind::kSplit:
        texts.insert(fmt::format("{}split {}", level, c.value));
        break;
      case Constraint::Kind::kKeep:
        texts.insert(fmt::format("{}{} {}", level, c.keep ? "keep" : "bypass", einsum.dataspaces[c.dataspace].name));
        break;
      case Constraint::Kind::kMinParallelism:
        texts.insert(fmt::format("{}at least {}", level, c.fraction));
        break;
    }
  }
  return texts;
}

std::string errors(const base::Diagnostics& found) {
  std::string all;
  for (const base::Diagnostic& diagnostic : found.all())
    if (diagnostic.severity == base::Severity::kError)
      all += fmt::format("{} {}:{} {}\n", diagnostic.code,
                         diagnostic.primary.where.known() ? diagnostic.primary.where.file->name : "",
                         diagnostic.primary.where.line, diagnostic.message);
  return all;
}

std::vector<std::string> gemmini(const std::string& layer, bool normalisation) {
  const std::string folder = kSeedProjects + "transformer_gemmini/";
  return {folder + (normalisation ? "arch/system_gemmini_NOs.yaml" : "arch/system_gemmini.yaml"),
          folder + (normalisation ? "constraints/constraints_NOs.yaml" : "constraints/constraints.yaml"),
          folder + "layers/" + layer + "_layer.yaml", folder + "mapper/variables.yaml", folder + "mapper/mapper.yaml"};
}

std::vector<std::string> pim(const std::string& layer, bool normalisation) {
  const std::string folder = kSeedProjects + "transformer_pim/";
  return {folder + (normalisation ? "arch_v0.4/system_PIM_NOs.yaml" : "arch_v0.4/system_PIM.yaml"),
          folder + (normalisation ? "constraints_v0.4/constraints_NOs.yaml" : "constraints_v0.4/constraints.yaml"),
          folder + "layers/" + layer + "_layer.yaml", folder + "mapper/variables.yaml", folder + "mapper/mapper.yaml"};
}

const char* const kBase =
    "{EMBEDDING: 768, SEQ_LENGTH: 512, HEADS: 12, FF_DIM: 3072, EMBEDDING_HEADS: 64, EMBEDDING_3: 2304}";
const char* const kLarge =
    "{EMBEDDING: 1024, SEQ_LENGTH: 4096, HEADS: 16, FF_DIM: 4096, EMBEDDING_HEADS: 64, EMBEDDING_3: 3072}";

struct Pair {
  std::string golden;
  std::vector<std::string> raw;
  const char* variables;
};

std::vector<Pair> pairs() {
  return {
      {"gemmini/KTQ_large", gemmini("KTQ", false), kLarge},
      {"gemmini/FF1_large", gemmini("FF1", false), kLarge},
      {"gemmini/KQV_base", gemmini("KQV", false), kBase},
      {"gemmini/softmax_large", gemmini("softmax", true), kLarge},
      {"gemmini/layernorm_base", gemmini("layernorm", true), kBase},
      {"pim/KTQ_large", pim("KTQ", false), kLarge},
      {"pim/FF2_large", pim("FF2", false), kLarge},
      {"pim/VScores_base", pim("VScores", false), kBase},
      {"pim/softmax_base", pim("softmax", true), kBase},
  };
}

TEST(GoldenSpace, RawDocumentsMeanWhatTimeloopsFrontEndMadeOfThem) {
  ORRERY_NEEDS_SHARED();
  for (const Pair& pair : pairs()) {
    SCOPED_TRACE(pair.golden);
    const auto raw = load(pair.raw, pair.variables);
    const auto processed = load({kNestGoldens + pair.golden + "/input.yaml"});
    EXPECT_EQ(errors(raw->found), "");
    EXPECT_EQ(errors(processed->found), "");
    EXPECT_FALSE(raw->architecture.v3);
    EXPECT_TRUE(processed->architecture.v3);
    ASSERT_EQ(raw->architecture.chip.storages.size(), processed->architecture.chip.storages.size());
    EXPECT_EQ(meaning(*raw), meaning(*processed));
    EXPECT_GT(meaning(*raw).size(), 5u);
  }
}

TEST(GoldenSpace, EveryGoldenMappingReadsAndWritesBackToTheLetter) {
  ORRERY_NEEDS_SHARED();
  int mappings = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kNestGoldens)) {
    if (entry.path().filename() != "map.yaml") continue;
    const std::filesystem::path input = entry.path().parent_path() / "input.yaml";
    if (!std::filesystem::exists(input)) continue;
    SCOPED_TRACE(entry.path().string());
    const auto loaded = load({input.string()});
    EXPECT_EQ(errors(loaded->found), "");
    const auto file = yaml::read_file(entry.path().string());
    base::Diagnostics found;
    const auto documents = yaml::parse(file, base::Severity::kWarning, found);
    const nest::Mapping mapping =
        read_mapping(*documents.at(0).find("mapping"), loaded->architecture.chip, loaded->einsum, Scope(), found);
    EXPECT_EQ(errors(found), "");
    std::string written = write_mapping_yaml(loaded->einsum, loaded->architecture.chip, mapping);
    std::string golden = file->text;
    while (!golden.empty() && golden.back() == '\n') golden.pop_back();
    while (!written.empty() && written.back() == '\n') written.pop_back();
    EXPECT_EQ(written, golden);
    ++mappings;
  }
  EXPECT_GE(mappings, 10);
}

TEST(GoldenSpace, TheSeedMappingOfGemminiNamesContainers) {
  ORRERY_NEEDS_SHARED();
  auto files = gemmini("old/KQV", false);
  files.push_back(kSeedProjects + "transformer_gemmini/mapper/mapping.yaml");
  const auto loaded = load(files, "{EMBEDDING: 1024, SEQ_LENGTH: 4096, EMBEDDING_3: 3072}");
  base::Diagnostics found;
  const nest::Mapping mapping =
      read_mapping(*loaded->find("mapping"), loaded->architecture.chip, loaded->einsum, Scope(), found);
  EXPECT_EQ(errors(found), "");
  EXPECT_EQ(mapping.levels[loaded->architecture.chip.storage_index("inter_PERows_spatial")].spatial,
            (std::vector<base::Count>{1, 1, 16}));
}

// Chips whose own constraint files repeat what their nodes say, some in other words.
TEST(GoldenSpace, TheOtherSeedChipsReadWithTheirConstraints) {
  ORRERY_NEEDS_SHARED();
  const std::string folder = kSeedProjects + "transformer_gemmini/";
  const std::vector<std::pair<const char*, const char*>> chips = {
      {"gemmini", "constraints_gemmini"},   {"eyeriss", "constraints_eyeriss"}, {"simba", "constraints_simba"},
      {"simba_right", "constraints_simba"}, {"tpu", "constraints_tpu"},         {"gemmini_realistic", "constraints"}};
  for (const auto& [chip, constraints] : chips) {
    SCOPED_TRACE(chip);
    const auto loaded = load({folder + "arch/system_" + chip + ".yaml", folder + "constraints/" + constraints + ".yaml",
                              folder + "layers/KQV_layer.yaml", folder + "mapper/variables.yaml"});
    EXPECT_EQ(errors(loaded->found), "");
    EXPECT_GT(loaded->space.constraints.size(), 10u);
  }
}

TEST(GoldenSpace, HandWrittenV3FilesReadWithTheirConstraints) {
  ORRERY_NEEDS_SHARED();
  const std::vector<std::vector<std::string>> cases = {
      {"transformer_aimc/arch.yaml", "transformer_aimc/constraints.yaml", "transformer_aimc/problems/KQV_layer.yaml",
       "transformer_aimc/variables.yaml"},
      {"transformer_dimc/arch.yaml", "transformer_dimc/constraints.yaml", "transformer_dimc/problems/KQV_layer.yaml",
       "transformer_dimc/variables.yaml"},
      {"transformer_pim/arch/system_PIM.yaml", "transformer_pim/constraints/constraints.yaml",
       "transformer_pim/layers/old/KQV_layer.yaml", "transformer_pim/mapper/variables.yaml"},
  };
  for (const auto& files : cases) {
    SCOPED_TRACE(files[0]);
    std::vector<std::string> paths;
    for (const std::string& file : files) paths.push_back(kSeedProjects + file);
    const auto loaded = load(paths);
    EXPECT_EQ(errors(loaded->found), "");
    EXPECT_TRUE(loaded->architecture.v3);
  }
}

}  // namespace
}  // namespace orrery::formats::timeloop
