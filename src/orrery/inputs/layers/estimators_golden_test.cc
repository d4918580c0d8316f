// Against Accelergy 0.4: raw documents must come to the tables and optima of the reference runs. Skipped where those
// are not at hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/components/energy_table_text.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/inputs/layers/read_layers.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
namespace yaml = formats::yaml;
using formats::timeloop::Documents;
using formats::timeloop::ReadOptions;
using formats::timeloop::Specification;

const std::string kGoldens = base::kShared.string() + "/goldens/nest/";
const std::string kGemmini = base::kShared.string() + "/seeds/timeloop-experiments/transformer_gemmini/";
const std::string kPim = base::kShared.string() + "/seeds/timeloop-experiments/transformer_pim/";

using base::Overrides;

// YAML files of folders, and files.
Documents gather(const std::vector<std::string>& paths, const ReadOptions& options) {
  std::vector<std::shared_ptr<const base::SourceFile>> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(yaml::read_file(path));
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".yaml") files.push_back(yaml::read_file(entry.path().string()));
  }
  return Documents::gather(files, options);
}

EstimatorSetup as_accelergy() {
  EstimatorSetup setup;
  setup.tables = {kGemmini + "free_data", kPim + "PIM_estimation_tables"};
  base::reproduce(energy::kDefects, "accelergy-0.4", setup.reproduced);
  return setup;
}

// A user's folder, and the processed input of the reference run.
struct Golden {
  std::string name;  // below goldens/nest
  std::vector<std::string> folder;
  Overrides overrides;
};

std::vector<std::string> gemmini(const std::string& layer, bool normalisation = false) {
  return {kGemmini + (normalisation ? "arch/system_gemmini_NOs.yaml" : "arch/system_gemmini.yaml"),
          kGemmini + "arch/components",
          kGemmini + (normalisation ? "constraints/constraints_NOs.yaml" : "constraints/constraints.yaml"),
          kGemmini + "mapper/mapper.yaml",
          kGemmini + "mapper/variables.yaml",
          kGemmini + "layers/" + layer + "_layer.yaml"};
}

std::vector<std::string> pim(const std::string& layer, bool normalisation = false) {
  return {kPim + (normalisation ? "arch_v0.4/system_PIM_NOs.yaml" : "arch_v0.4/system_PIM.yaml"),
          kPim + "arch_v0.4/components",
          kPim + (normalisation ? "constraints_v0.4/constraints_NOs.yaml" : "constraints_v0.4/constraints.yaml"),
          kPim + "mapper/mapper.yaml",
          kPim + "mapper/variables.yaml",
          kPim + "layers/" + layer + "_layer.yaml"};
}

const Overrides kBase = {{"variables.EMBEDDING", "768"},
                         {"variables.SEQ_LENGTH", "512"},
                         {"variables.HEADS", "12"},
                         {"variables.FF_DIM", "3072"}};
Overrides gemmini_base() {
  Overrides all = kBase;
  all.push_back({"variables.EMBEDDING_3", "2304"});
  return all;
}
// Unfused runs, which a folder alone gives.
std::vector<Golden> from_folders() {
  return {{"gemmini/FF1_large", gemmini("FF1"), {}},
          {"gemmini/KQV_base", gemmini("KQV"), gemmini_base()},
          {"gemmini/KTQ_large", gemmini("KTQ"), {}},
          {"gemmini/layernorm_base", gemmini("layernorm", true), gemmini_base()},
          {"gemmini/softmax_large", gemmini("softmax", true), {}},
          {"pim/FF2_large", pim("FF2"), {}},
          {"pim/KTQ_large", pim("KTQ"), {}},
          {"pim/VScores_base", pim("VScores"), kBase},
          {"pim/softmax_base", pim("softmax", true), kBase}};
}

// Every run that has an input and tables.
std::vector<std::string> all_goldens() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kGoldens))
    if (entry.path().filename() == "input.yaml" && fs::exists(entry.path().parent_path() / "ERT.yaml"))
      names.push_back(fs::relative(entry.path().parent_path(), kGoldens).string());
  std::sort(names.begin(), names.end());
  return names;
}

// (component, action, number of destinations) -> pJ; action "area" -> um^2.
using Figures = std::map<std::tuple<std::string, std::string, std::string>, double>;

yaml::Node parse(const std::shared_ptr<const base::SourceFile>& file) {
  base::Diagnostics found;
  auto documents = yaml::parse(file, base::Severity::kWarning, found);
  found.throw_if_errors();
  return documents.at(0);
}

Figures figures(const yaml::Node& ert, const yaml::Node& art) {
  Figures all;
  for (const yaml::Node& table : ert.find("ERT")->find("tables")->items)
    for (const yaml::Node& action : table.find("actions")->items) {
      const yaml::Node* destinations = action.find("arguments")->find("num_destinations");
      all[{table.find("name")->scalar, action.find("name")->scalar, destinations ? destinations->scalar : ""}] =
          std::stod(action.find("energy")->scalar);
    }
  for (const yaml::Node& table : art.find("ART")->find("tables")->items)
    all[{table.find("name")->scalar, "area", ""}] = std::stod(table.find("area")->scalar);
  return all;
}

Figures golden_figures(const std::string& name) {
  return figures(parse(yaml::read_file(kGoldens + name + "/ERT.yaml")),
                 parse(yaml::read_file(kGoldens + name + "/ART.yaml")));
}

// What `orrery energy -o` would write, read back.
Figures our_figures(const std::vector<std::string>& paths, const Overrides& overrides) {
  ReadOptions options;
  options.overrides = overrides;
  options.estimate = as_accelergy().options();
  options.tables_wanted = false;
  Specification specification = gather(paths, options).read();
  Estimators estimators(as_accelergy());
  const Estimates estimates = complete(specification, estimators);
  const auto text = [](std::string content) { return parse(base::source(std::move(content), "written")); };
  return figures(text(formats::timeloop::energy_table_text(*estimates)),
                 text(formats::timeloop::area_table_text(*estimates)));
}

bool is_sram(const std::string& table_name) {
  for (const char* memory : {".Scratchpad[", ".Accumulator[", ".Registers[", ".Registers_", ".shared_glb["})
    if (table_name.find(memory) != std::string::npos) return true;
  return false;
}

// All six figures; of SRAMs the sixth may differ by one, since the table of CACTI's figures has no more than six.
void expect_equal_figures(const Figures& ours, const Figures& theirs, const std::string& name) {
  for (const auto& [key, value] : theirs) {
    const auto& [component, action, destinations] = key;
    const auto found = ours.find(key);
    const std::string of = fmt::format("{}: {} {} {}", name, component, action, destinations);
    if (found == ours.end()) {
      ADD_FAILURE() << of << " is missing";
      continue;
    }
    if (is_sram(component))
      EXPECT_NEAR(found->second, value, 1e-5 * std::abs(value)) << of;
    else
      EXPECT_EQ(found->second, value) << of;
  }
  for (const auto& [key, value] : ours)
    EXPECT_TRUE(theirs.count(key)) << name << ": " << std::get<0>(key) << " " << std::get<1>(key) << " is not there";
}

struct Expected {
  bool mappable = true;
  double energy_uj = 0;  // of the optimum, two decimals
  base::Count cycles = 0;
};

Expected expected(const std::string& name) {
  const yaml::Node json = parse(yaml::read_file(kGoldens + name + "/expected.json"));
  Expected result;
  result.mappable = json.find("mappable")->scalar != "false";
  const yaml::Node* optimum = json.find("optimum");
  if (optimum && optimum->is_map()) {
    result.energy_uj = std::stod(optimum->find("energy_uj")->scalar);
    result.cycles = std::stoll(optimum->find("cycles")->scalar);
  }
  return result;
}

void expect_optimum(const MappedLayer& layer, const Expected& wanted, const std::string& name) {
  EXPECT_TRUE(layer.optimum.certificate.optimal) << name;
  EXPECT_NEAR(layer.optimum.evaluation.energy_pj / 1e6, wanted.energy_uj, 0.0051) << name;
  EXPECT_EQ(layer.optimum.evaluation.cycles, wanted.cycles) << name;
}

MappedModel best(const std::vector<std::string>& paths, const Overrides& overrides, const EstimatorSetup& setup,
                 const nest::ModelOptions& model) {
  ReadOptions options;
  options.overrides = overrides;
  options.estimate = setup.options();
  options.tables_wanted = false;
  options.mapping_wanted = false;
  const Documents documents = gather(paths, options);
  LayerTask task;
  task.documents = &documents;
  MapOptions map;
  map.model = model;
  map.objective = {nest::Metric::kEdp};
  Estimators estimators(setup);
  return map_layers(read_layers({task}, estimators).questions, map);
}

TEST(EstimatorsGolden, RawFoldersComeToTheTablesOfAccelergy) {
  ORRERY_NEEDS_SHARED();
  for (const Golden& golden : from_folders())
    expect_equal_figures(our_figures(golden.folder, golden.overrides), golden_figures(golden.name), golden.name);
}

TEST(EstimatorsGolden, ProcessedInputsComeToTheTablesOfAccelergy) {
  ORRERY_NEEDS_SHARED();
  const std::vector<std::string> names = all_goldens();
  ASSERT_GE(names.size(), 15u);
  for (const std::string& name : names)
    expect_equal_figures(our_figures({kGoldens + name + "/input.yaml"}, {}), golden_figures(name), name);
}

TEST(EstimatorsGolden, RawFoldersComeToTheOptimaOfTheReference) {
  ORRERY_NEEDS_SHARED();
  for (const Golden& golden : from_folders()) {
    const MappedModel mapped = best(golden.folder, golden.overrides, as_accelergy(), nest::ModelOptions::timeloop());
    ASSERT_TRUE(mapped.layers[0].found()) << golden.name;
    expect_optimum(mapped.layers[0], expected(golden.name), golden.name);
  }
}

TEST(EstimatorsGolden, ProcessedInputsComeToTheOptimaOfTheReferenceFusedOnesToo) {
  ORRERY_NEEDS_SHARED();
  for (const std::string& name : all_goldens()) {
    if (!fs::exists(kGoldens + name + "/expected.json")) continue;
    const MappedModel mapped =
        best({kGoldens + name + "/input.yaml"}, {}, as_accelergy(), nest::ModelOptions::timeloop());
    const Expected wanted = expected(name);
    EXPECT_EQ(mapped.layers[0].found(), wanted.mappable) << name;
    if (wanted.cycles > 0) expect_optimum(mapped.layers[0], wanted, name);
  }
}

// YAML files of a folder and those below it, but for some.
std::vector<std::string> files_below(const std::string& folder, const std::vector<std::string>& but = {}) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const bool left_out =
        std::any_of(but.begin(), but.end(), [&](const auto& part) { return path.find(part) != std::string::npos; });
    if (entry.path().extension() == ".yaml" && !left_out) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Reads and estimates; returns what is wrong.
std::string troubles(const std::vector<std::string>& paths, Estimators& estimators) {
  try {
    Specification specification = gather(paths, {}).read();
    const Estimates estimates = complete(specification, estimators);
    return estimates && specification.problem ? "" : "nothing was estimated";
  } catch (const base::InputError& error) {
    return error.what();
  }
}

TEST(EstimatorsGolden, EveryArchitectureReadsAndIsEstimatedWithEveryLayerItIsFor) {
  ORRERY_NEEDS_SHARED();
  struct Family {
    std::vector<std::string> shared;
    std::vector<std::string> layers;
  };
  // `old` layers have three dimensions, which most constraints exceed.
  const std::vector<std::string> not_matmul = {"layernorm", "softmax", "/old/"};
  const std::vector<std::string> matmuls = files_below(kGemmini + "layers", not_matmul);
  std::vector<Family> families;
  const auto add = [&](const std::string& folder, const std::string& version, const std::string& arch,
                       const std::string& constraints, const std::vector<std::string>& layers) {
    families.push_back({{folder + "arch" + version + "/" + arch + ".yaml", folder + "arch" + version + "/components",
                         folder + "constraints" + version + "/" + constraints + ".yaml", folder + "mapper/mapper.yaml",
                         folder + "mapper/variables.yaml"},
                        layers});
  };
  for (const char* constraints : {"constraints", "constraints_gemmini"}) {
    add(kGemmini, "", "system_gemmini", constraints, matmuls);
    add(kGemmini, "", "system_gemmini_realistic", constraints, matmuls);
  }
  add(kGemmini, "", "system_eyeriss", "constraints_eyeriss", matmuls);
  add(kGemmini, "", "system_simba", "constraints_simba", matmuls);
  add(kGemmini, "", "system_simba_right", "constraints_simba", matmuls);
  add(kGemmini, "", "system_tpu", "constraints_tpu", matmuls);
  const auto norms_of = [&](const std::string& folder) {
    return std::vector<std::string>{folder + "layers/layernorm_layer.yaml", folder + "layers/softmax_layer.yaml"};
  };
  add(kGemmini, "", "system_gemmini_NOs", "constraints_NOs", norms_of(kGemmini));
  for (const char* version : {"", "_v0.4"}) {
    add(kPim, version, "system_PIM", "constraints", files_below(kPim + "layers", not_matmul));
    add(kPim, version, "system_PIM_NOs", "constraints_NOs", norms_of(kPim));
  }
  EstimatorSetup setup = as_accelergy();
  setup.reproduced = {};
  Estimators estimators(setup);
  int runs = 0;
  for (const Family& family : families) {
    for (const std::string& layer : family.layers) {
      std::vector<std::string> paths = family.shared;
      paths.push_back(layer);
      EXPECT_EQ(troubles(paths, estimators), "") << family.shared[0] << ", " << layer;
      ++runs;
    }
  }
  EXPECT_GT(runs, 300);
}

}  // namespace
}  // namespace orrery::verbs
