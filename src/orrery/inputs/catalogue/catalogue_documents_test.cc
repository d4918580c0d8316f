// The catalogue's chips and the example files as the reader and the model see them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <source_dir.h>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::timeloop::Documents;
using formats::timeloop::Specification;

const std::string kSource = ORRERY_SOURCE_DIR;
const std::string kCatalogue = kSource + "/catalog";
const std::vector<std::string> kChips = {"eyeriss", "gemmini", "pim", "simba", "tpu"};

std::vector<workload::Operator> block_of(const char* model, base::Count seq) {
  return workload::model_operators(load_model(kCatalogue, model).transformer, {1, seq, 0}).operators;
}

const workload::Operator& named(const std::vector<workload::Operator>& block, std::string_view name) {
  for (const workload::Operator& op : block)
    if (op.name == name) return op;
  throw std::out_of_range(std::string(name));
}

Specification specification(const std::string& chip, const workload::Operator& op) {
  const ChipFile file = load_chip(kCatalogue, chip);
  return Documents::gather({file.for_role(op.role).file}, {}).read_for(op.einsum);
}

std::string said(const base::Diagnostics& found) {
  std::string text;
  for (const base::Diagnostic& diagnostic : found.all())
    text += fmt::format("{}:{} {}: {}\n", diagnostic.primary.where.file ? diagnostic.primary.where.file->name : "",
                        diagnostic.primary.where.line, diagnostic.code, diagnostic.message);
  return text;
}

// Reads without a word.
Specification quietly(const std::string& what, const std::function<Specification()>& read) {
  try {
    Specification read_ok = read();
    EXPECT_EQ(said(read_ok.diagnostics), "") << what;
    return read_ok;
  } catch (const base::InputError& error) {
    base::Diagnostics found;
    found.append(error.diagnostics);
    ADD_FAILURE() << what << "\n" << said(found);
  }
  return {};
}

TEST(CatalogueChips, ReadWithoutErrorsOrWarningsForEachOperatorOfBert) {
  for (const std::string& chip : kChips)
    for (const auto& [model, seq] : {std::pair{"bert-base", 512}, std::pair{"bert-large", 4096}})
      for (const workload::Operator& op : block_of(model, seq)) {
        const std::string what = fmt::format("{} of {} on {}", op.name, model, chip);
        const Specification read = quietly(what, [&] { return specification(chip, op); });
        EXPECT_TRUE(read.chip && read.problem && read.has_energy_tables) << what;
      }
}

std::vector<std::shared_ptr<const base::SourceFile>> example_files(const std::string& chip, const std::string& layer) {
  std::set<std::string> paths;  // sorted
  for (const auto& entry : fs::directory_iterator(kSource + "/examples/" + chip))
    if (entry.is_regular_file()) paths.insert(entry.path().string());
  std::vector<std::shared_ptr<const base::SourceFile>> files;
  for (const std::string& path : paths) files.push_back(formats::yaml::read_file(path));
  files.push_back(formats::yaml::read_file(kSource + "/examples/" + chip + "/layers/" + layer + ".yaml"));
  return files;
}

Specification example(const std::string& chip, const std::string& layer) {
  return Documents::gather(example_files(chip, layer), {}).read();
}

TEST(Examples, SayTheSameAsTheCatalogueDoes) {
  for (const workload::Operator& op : block_of("bert-large", 4096))
    for (const std::string chip : {"gemmini", "pim"}) {
      const std::string folder = op.role == workload::OperatorRole::kMatmul ? chip : chip + "_norm";
      const std::string what = op.name + " in examples/" + folder;
      const Specification ours = quietly(what, [&] { return example(folder, op.name); });
      const Specification shipped = specification(chip, op);
      ASSERT_TRUE(ours.chip && ours.problem && shipped.chip && shipped.problem) << what;
      ASSERT_EQ(ours.problem->einsum.dimensions.size(), op.einsum.dimensions.size());
      for (const workload::Dimension& dimension : op.einsum.dimensions) {
        const int d = ours.problem->einsum.dimension_index(dimension.name);
        ASSERT_GE(d, 0) << what;
        EXPECT_EQ(ours.problem->einsum.dimensions[d].bound, dimension.bound) << what << " " << dimension.name;
      }
      // The examples' normalisation units also fix how a column is cut to pieces.
      if (op.role == workload::OperatorRole::kMatmul) {
        EXPECT_EQ(ours.problem->space.constraints.size(), shipped.problem->space.constraints.size()) << what;
      }
      ASSERT_EQ(ours.chip->storages.size(), shipped.chip->storages.size()) << what;
      for (std::size_t level = 0; level < ours.chip->storages.size(); ++level) {
        const machine::Storage& a = ours.chip->storages[level];
        const machine::Storage& b = shipped.chip->storages[level];
        EXPECT_EQ(a.name, b.name);
        EXPECT_EQ(a.instances, b.instances) << a.name;
        EXPECT_EQ(a.block_size, b.block_size) << a.name;
        EXPECT_EQ(a.word_bits, b.word_bits) << a.name;
        EXPECT_EQ(a.capacity_words, b.capacity_words) << a.name;
        EXPECT_EQ(a.read_words_per_cycle, b.read_words_per_cycle) << a.name;
        EXPECT_EQ(a.shared_words_per_cycle, b.shared_words_per_cycle) << a.name;
        EXPECT_EQ(a.energy.read_pj, b.energy.read_pj) << a.name;
        EXPECT_EQ(a.energy.leak_pj_per_cycle, b.energy.leak_pj_per_cycle) << a.name;
      }
    }
}

TEST(Examples, TheMappingWrittenByHandCostsWhatTimeloopSays) {
  auto files = example_files("gemmini", "KTQ");
  files.push_back(formats::yaml::read_file(kSource + "/examples/gemmini/mappings/KTQ.yaml"));
  const Specification read =
      quietly("examples/gemmini with a mapping", [&] { return Documents::gather(files, {}).read(); });
  ASSERT_TRUE(read.mapping);
  const nest::Model model(read.problem->einsum, *read.chip, nest::ModelOptions::timeloop(), read.problem->space.reuse);
  nest::Evaluation evaluation;
  model.evaluate(*read.mapping, evaluation);
  EXPECT_EQ(evaluation.cycles, 4227076);
  EXPECT_NEAR(evaluation.energy_pj * 1e-6, 2117.56, 0.005);
}

struct Published {
  const char* chip;
  const char* model;
  base::Count seq;
  const char* layer;
  double energy_uj;
  base::Count cycles;
};

TEST(CatalogueChips, HaveTheOptimaThatTimeloopWasSeenToReach) {
  const std::vector<Published> cases = {
      {"gemmini", "bert-large", 4096, "KTQ", 2116.62, 4210692},
      {"gemmini", "bert-base", 512, "KQV", 1135.81, 3649540},
      {"gemmini", "bert-large", 4096, "softmax", 2797.93, 33554432},
      {"gemmini", "bert-base", 512, "layernorm", 65.59, 1179648},
      {"pim", "bert-large", 4096, "KTQ", 3329.71, 131072},
      {"pim", "bert-large", 4096, "FF2", 52323.31, 1048576},
      {"pim", "bert-base", 512, "VScores", 67.88, 2048},
      {"pim", "bert-base", 512, "softmax", 69.17, 524288},
  };
  for (const Published& golden : cases) {
    SCOPED_TRACE(fmt::format("{} of {} on {}", golden.layer, golden.model, golden.chip));
    const auto block = block_of(golden.model, golden.seq);
    const Specification read = specification(golden.chip, named(block, golden.layer));
    const nest::Model model(read.problem->einsum, *read.chip, nest::ModelOptions::timeloop(),
                            read.problem->space.reuse);
    const nest::Optimum optimum = nest::optimize(model, read.problem->space);
    ASSERT_TRUE(optimum.mapping);
    EXPECT_TRUE(optimum.certificate.optimal);
    EXPECT_EQ(optimum.evaluation.cycles, golden.cycles);
    EXPECT_NEAR(optimum.evaluation.energy_pj * 1e-6, golden.energy_uj, 0.005);
  }
}

TEST(CatalogueChips, MayNameTheBoundsOfTheOperatorInTheirConstraints) {
  auto file = std::make_shared<base::SourceFile>();
  file->name = "chip.yaml";
  file->text = R"yaml(
architecture:
  version: 0.4
  nodes:
  - !Component
    name: DRAM
    class: DRAM
    attributes: {datawidth: 8, width: 8}
    constraints: {temporal: {factors: ["E=(E if E <= 16 else 8)"]
}
}
  - !Component {name: MAC, class: intmac}
)yaml";
  formats::timeloop::ReadOptions options;
  options.energies_required = false;
  const Documents documents = Documents::gather({file}, options);
  for (const auto& [bound, factor] : {std::pair{12, 12}, std::pair{64, 8}}) {
    const Specification read = documents.read_for(workload::matmul("m", 4, bound, 4));
    base::Count found = 0;
    for (const nest::Constraint& constraint : read.problem->space.constraints)
      if (constraint.kind == nest::Constraint::Kind::kFactor && !constraint.spatial && constraint.dimension == 0)
        found = constraint.value;
    EXPECT_EQ(found, factor);
  }
}

TEST(CatalogueChips, EyerissAgreesWithFactorFlowUpToItsReadsOfDrainedOutputs) {
  // FactorFlow charges one more read per output that leaves a level, and searches greedily: it lies a little above.
  const std::vector<Published> cases = {
      {"eyeriss", "bert-large", 4096, "KQV", 80838.499, 134217728},
      {"eyeriss", "bert-large", 4096, "KTQ", 7313.77, 16777216},
      {"eyeriss", "bert-large", 4096, "FF1", 109351.881, 268435456},
  };
  for (const Published& theirs : cases) {
    SCOPED_TRACE(theirs.layer);
    const auto block = block_of(theirs.model, theirs.seq);
    const Specification read = specification(theirs.chip, named(block, theirs.layer));
    const nest::Optimum optimum = nest::optimize(nest::Model(read.problem->einsum, *read.chip), read.problem->space);
    ASSERT_TRUE(optimum.mapping);
    EXPECT_EQ(optimum.evaluation.cycles, theirs.cycles);
    EXPECT_LT(optimum.evaluation.energy_pj * 1e-6, theirs.energy_uj);
    EXPECT_GT(optimum.evaluation.energy_pj * 1e-6, 0.96 * theirs.energy_uj);
  }
}

TEST(CatalogueChips, MapWidthsThatArePowersOfNothing) {
  for (const std::string& chip : kChips)
    for (const workload::Operator& op : block_of("gpt2-xl", 1000)) {
      if (op.role != workload::OperatorRole::kNormalisation) continue;
      const std::string what = op.name + " on " + chip;
      const Specification read = quietly(what, [&] { return specification(chip, op); });
      const nest::Optimum optimum = nest::optimize(nest::Model(read.problem->einsum, *read.chip), read.problem->space);
      EXPECT_TRUE(optimum.mapping.has_value()) << what;
    }
}

}  // namespace
}  // namespace orrery::verbs
