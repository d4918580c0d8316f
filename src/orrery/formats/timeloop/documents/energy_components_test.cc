// What is to be estimated, against the tables that Accelergy made of the same folders.
#include "orrery/formats/timeloop/components/energy_components.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

const std::string kSeeds = base::kShared.string() + "/seeds/timeloop-experiments/";
const std::string kGoldens = base::kShared.string() + "/goldens/nest/";

using SourceFiles = std::vector<std::shared_ptr<const base::SourceFile>>;
using Paths = std::vector<std::string>;

void add_folder(const std::string& folder, Paths& paths) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".yaml") paths.push_back(file.path().string());
  }
}

Specification read(const Paths& paths, const energy::EstimateOptions& estimate = {}) {
  SourceFiles files;
  for (const std::string& path : paths) files.push_back(yaml::read_file(path));
  ReadOptions options;
  options.estimate = estimate;
  return Documents::gather(files, options).read();
}

// "DRAM: read(global_cycle_seconds=1.2e-09 ...) ..." for each entry of a table, in the order of the table; actions in
// the order of the alphabet, since Accelergy's follow that of a Python set.
std::vector<std::string> energy_table(const std::string& path) {
  base::Diagnostics found;
  const auto documents = yaml::parse(yaml::read_file(path), base::Severity::kWarning, found);
  std::vector<std::string> entries;
  for (const yaml::Node& table : documents.at(0).find("ERT")->find("tables")->items) {
    std::multiset<std::string> actions;
    for (const yaml::Node& action : table.find("actions")->items) {
      std::map<std::string, std::string> arguments;
      for (const auto& entry : action.find("arguments")->entries) arguments[entry.key] = entry.value.scalar;
      std::string text = " " + action.find("name")->scalar + "(";
      for (const auto& [name, value] : arguments) text += name + "=" + value + " ";
      actions.insert(text + ")");
    }
    std::string line = table.find("name")->scalar + ":";
    for (const std::string& action : actions) line += action;
    entries.push_back(line);
  }
  return entries;
}

std::vector<std::string> area_table(const std::string& path) {
  base::Diagnostics found;
  const auto documents = yaml::parse(yaml::read_file(path), base::Severity::kWarning, found);
  std::vector<std::string> entries;
  for (const yaml::Node& table : documents.at(0).find("ART")->find("tables")->items)
    entries.push_back(table.find("name")->scalar);
  return entries;
}

std::vector<std::string> energy_table(const std::vector<energy::Component>& components) {
  std::vector<std::string> entries;
  for (const energy::Component& component : components) {
    if (component.actions.empty()) continue;
    std::multiset<std::string> actions;
    for (const energy::Action& action : component.actions) {
      std::string text = " " + action.name + "(";
      for (const auto& [name, value] : action.arguments) text += name + "=" + energy::text(value) + " ";
      actions.insert(text + ")");
    }
    std::string line = component.table_name + ":";
    for (const std::string& action : actions) line += action;
    entries.push_back(line);
  }
  return entries;
}

std::vector<std::string> names(const std::vector<energy::Component>& components) {
  std::vector<std::string> all;
  for (const energy::Component& component : components) all.push_back(component.table_name);
  return all;
}

Paths seed_folder(const std::string& family, bool norm) {
  const std::string root = kSeeds + "transformer_" + family;
  const std::string arch = root + (family == "pim" ? "/arch_v0.4" : "/arch");
  const std::string stem = family == "pim" ? "/system_PIM" : "/system_gemmini";
  Paths paths = {arch + stem + (norm ? "_NOs.yaml" : ".yaml"), root + "/mapper/variables.yaml"};
  add_folder(arch + "/components", paths);
  return paths;
}

const energy::Component& component(const std::vector<energy::Component>& all, std::string_view name) {
  for (const energy::Component& one : all)
    if (one.name == name) return one;
  throw std::runtime_error("no component " + std::string(name));
}

// Energy of an action when each primitive's action costs what `figures` say ("class.action").
double energy(const energy::Component& of, std::string_view name, const std::map<std::string, double>& figures) {
  for (const energy::Action& action : of.actions) {
    if (action.name != name) continue;
    double sum = 0;
    for (const energy::Term& term : action.terms)
      sum += term.weight * figures.at(of.primitives[term.primitive].class_name + "." + term.action);
    return sum;
  }
  throw std::runtime_error("no action " + std::string(name));
}

double area(const energy::Component& of, const std::map<std::string, double>& figures) {
  double sum = 0;
  for (const energy::Primitive& primitive : of.primitives)
    sum += primitive.area_weight * figures.at(primitive.class_name);
  return sum;
}

TEST(EnergyComponents, RawSeedFoldersHaveTheEntriesOfEveryGoldenTable) {
  ORRERY_NEEDS_SHARED();
  int cases = 0;
  for (const std::string family : {"gemmini", "pim"}) {
    for (const auto& folder : std::filesystem::directory_iterator(kGoldens + family)) {
      const std::string name = folder.path().filename().string();
      if (!std::filesystem::exists(folder.path() / "ERT.yaml")) continue;
      SCOPED_TRACE(family + "/" + name);
      const bool norm = name.rfind("softmax", 0) == 0 || name.rfind("layernorm", 0) == 0;
      const Specification specification = read(seed_folder(family, norm), energy::EstimateOptions::accelergy());
      EXPECT_EQ(energy_table(specification.components), energy_table((folder.path() / "ERT.yaml").string()));
      EXPECT_EQ(names(specification.components), area_table((folder.path() / "ART.yaml").string()));
      ++cases;
    }
  }
  EXPECT_EQ(cases, 11);
}

TEST(EnergyComponents, ProcessedInputsHaveThemToo) {
  ORRERY_NEEDS_SHARED();
  int cases = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kGoldens)) {
    if (file.path().filename() != "input.yaml") continue;
    SCOPED_TRACE(file.path().string());
    const bool pim = file.path().string().find("/pim/") != std::string::npos;
    Paths paths = {file.path().string()};
    add_folder(kSeeds + (pim ? "transformer_pim/arch_v0.4/components" : "transformer_gemmini/arch/components"), paths);
    SourceFiles files;
    for (const std::string& path : paths) files.push_back(yaml::read_file(path));
    const auto folder = file.path().parent_path();
    if (!std::filesystem::exists(folder / "ERT.yaml")) continue;
    ReadOptions options;
    options.estimate = energy::EstimateOptions::accelergy();
    const Specification specification = Documents::gather(files, options).read();
    EXPECT_EQ(energy_table(specification.components), energy_table((folder / "ERT.yaml").string()));
    EXPECT_EQ(names(specification.components), area_table((folder / "ART.yaml").string()));
    ++cases;
  }
  EXPECT_EQ(cases, 15);
}

TEST(EnergyComponents, EveryArchitectureOfTheSeedsReads) {
  ORRERY_NEEDS_SHARED();
  int cases = 0;
  for (const std::string folder : {"transformer_gemmini/arch", "transformer_pim/arch", "transformer_pim/arch_v0.4"}) {
    for (const auto& file : std::filesystem::directory_iterator(kSeeds + folder)) {
      if (file.path().extension() != ".yaml") continue;
      SCOPED_TRACE(file.path().string());
      Paths paths = {file.path().string(), kSeeds + folder + "/../mapper/variables.yaml"};
      add_folder(kSeeds + folder + "/components", paths);
      try {
        const Specification specification = read(paths);
        EXPECT_GE(specification.components.size(), 4u);
      } catch (const base::InputError& error) {
        for (const auto& one : error.diagnostics) ADD_FAILURE() << one.code << " " << one.message;
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 11);
}

const std::map<std::string, double> kCells = {{"ReRAMcell_compute.compute", 1.83e-3},
                                              {"DAC.convert", 0.0033},
                                              {"sample_and_hold.sample_and_hold", 8.13e-6},
                                              {"ADC.convert", 1.66},
                                              {"shift_and_add.shift_and_add", 0.0418},
                                              {"SRAM.read", 0.192},
                                              {"SRAM.write", 0.192}};

TEST(EnergyComponents, ActionSharesOfThePimChipAreHonouredOrIgnored) {
  ORRERY_NEEDS_SHARED();
  const auto honoured = read(seed_folder("pim", false)).components;
  EXPECT_NEAR(energy(component(honoured, "mac"), "compute", kCells), 0.23424, 1e-9);
  EXPECT_NEAR(energy(component(honoured, "D2A_NoC"), "transfer_Inputs", kCells), 8 * 0.0033 * 16 * 16, 1e-9);
  EXPECT_NEAR(energy(component(honoured, "A2D_NoC"), "transfer_Outputs", kCells),
              128 * (8.13e-6 + 1.66 + 0.0418) + 28 * 0.192, 1e-9);
  const auto ignored = read(seed_folder("pim", false), energy::EstimateOptions::accelergy()).components;
  EXPECT_NEAR(energy(component(ignored, "mac"), "compute", kCells), 0.01464, 1e-9);
  EXPECT_NEAR(energy(component(ignored, "D2A_NoC"), "transfer_Inputs", kCells), 0.0264, 1e-9);
  EXPECT_NEAR(energy(component(ignored, "A2D_NoC"), "transfer_Outputs", kCells), 2.08587, 5e-6);
}

TEST(EnergyComponents, AreasOfCompoundsCountWholeRanges) {
  ORRERY_NEEDS_SHARED();
  const std::map<std::string, double> figures = {{"ReRAMcell_compute", 0.001525879},
                                                 {"DAC", 0.166},
                                                 {"sample_and_hold", 0.0390625},
                                                 {"ADC", 1200},
                                                 {"shift_and_add", 60},
                                                 {"SRAM", 770}};
  const auto components = read(seed_folder("pim", false)).components;
  EXPECT_NEAR(area(component(components, "mac"), figures), 0.012207, 1e-6);
  EXPECT_NEAR(area(component(components, "D2A_NoC"), figures), 169.984, 1e-9);
  EXPECT_NEAR(area(component(components, "A2D_NoC"), figures), 2032.5, 1e-9);
}

TEST(EnergyComponents, TheMultiplierOfTheSeedsIsAnAdderToo) {
  ORRERY_NEEDS_SHARED();
  const auto components = read(seed_folder("gemmini", false)).components;
  const energy::Component& mac = component(components, "MAC");
  EXPECT_EQ(energy(mac, "compute", {{"aladdin_adder.read", 0.21}}), 0.42);
  EXPECT_EQ(energy(mac, "leak", {{"aladdin_adder.leak", 0.0024}}), 0.0048);
  ASSERT_EQ(mac.primitives.size(), 2u);
  EXPECT_EQ(mac.primitives[0].path, "MAC.intadder");
  EXPECT_EQ(energy::text(*energy::find(mac.primitives[0].attributes, "width")), "32");
  EXPECT_EQ(energy::text(*energy::find(mac.primitives[0].attributes, "technology")), "32nm");
  EXPECT_EQ(energy::text(*energy::find(mac.primitives[0].attributes, "cycle_seconds")), "1.2e-09");
  EXPECT_EQ(mac.instances, 256);
}

TEST(EnergyComponents, FanOutsAreFreeUnlessAccelergyPricesThem) {
  ORRERY_NEEDS_SHARED();
  const auto free = read(seed_folder("gemmini", false)).components;
  EXPECT_TRUE(component(free, "inter_PERows_spatial").primitives.empty());
  const auto priced = read(seed_folder("gemmini", false), energy::EstimateOptions::accelergy()).components;
  const energy::Component& fan_out = component(priced, "inter_PERows_spatial");
  ASSERT_EQ(fan_out.primitives.size(), 1u);
  EXPECT_EQ(energy::text(*energy::find(fan_out.primitives[0].attributes, "technology")), "-1");
  EXPECT_TRUE(fan_out.actions.empty());
}

const char* const kPricedVariables =
    "variables: {version: 0.4, technology: \"32nm\", global_cycle_seconds: 1e-9, n: 4}\n";
const char* const kPricedArchitecture = R"(
architecture:
  version: 0.4
  nodes:
  - !Container {name: System, attributes: {latency: "1ns"}}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64, datawidth: 8}
  - !Component
    name: Buffer
    class: storage
    subclass: my_buffer
    energy_scale: n / 2
    area_scale: 0.5
    attributes: {width: 16 * n, depth: 64, datawidth: 8, latency: "2ns"}
  - !Container {name: PE, spatial: {meshX: n}}
  - !Component
    name: Registers
    class: SRAM
    required_actions: [clear]
    attributes: {width: 8, depth: 1, datawidth: 8}
  - !Component {name: MAC, class: intmac}
)";
const char* const kClasses = R"(
compound_components:
  version: 0.4
  classes:
  - name: my_buffer
    attributes: {width: must_specify}
    subcomponents: [{name: store, class: SRAM, attributes: {width: width}}]
    actions:
    - &read {name: read, subcomponents: [{name: store, actions: [{name: read}]}]}
    - {<<: *read, name: write}
    - {<<: *read, name: update}
    - {name: leak, subcomponents: [{name: store, actions: [{name: leak}]}]}
)";

Specification read_texts(const std::vector<std::string>& texts, const ReadOptions& options = {}) {
  SourceFiles files;
  for (const std::string& text : texts)
    files.push_back(base::source(text, fmt::format("{}.yaml", static_cast<char>('a' + files.size()))));
  return Documents::gather(files, options).read();
}

std::string codes(const std::vector<std::string>& texts, const ReadOptions& options = {}) {
  std::vector<base::Diagnostic> found;
  try {
    found = read_texts(texts, options).diagnostics.all();
  } catch (const base::InputError& error) {
    found = error.diagnostics;
  }
  std::string all;
  for (const base::Diagnostic& one : found) all += one.code + " ";
  return all;
}

// Actions with their first term's weight.
std::string actions(const energy::Component& of) {
  std::string all;
  for (const energy::Action& action : of.actions)
    all += fmt::format("{}*{} ", action.terms.empty() ? 0 : action.terms[0].weight, action.name);
  return all;
}

std::string attribute(const energy::Component& of, std::string_view name) {
  const energy::Value* value = energy::find(of.attributes, name);
  return value == nullptr ? "-" : energy::text(*value);
}

TEST(EnergyComponents, AreThoseOfTheArchitecturePrimitivesFirst) {
  const auto all = read_texts({kPricedArchitecture, kClasses, kPricedVariables}).components;
  EXPECT_EQ(names(all),
            (std::vector<std::string>{"System_top_level.DRAM[1..1]", "System_top_level.inter_PE_spatial[1..1]",
                                      "System_top_level.Registers[1..4]", "System_top_level.MAC[1..4]",
                                      "System_top_level.Buffer[1..1]"}));
  EXPECT_EQ(actions(component(all, "DRAM")), "1*read 1*write 1*update 1*leak ");
  EXPECT_EQ(actions(component(all, "Registers")), "1*read 1*write 1*update 1*leak 1*clear ");
  EXPECT_EQ(actions(component(all, "MAC")), "1*compute ");
  EXPECT_EQ(component(all, "Registers").instances, 4);
}

TEST(EnergyComponents, ScalesOfAComponentMultiplyAllItsFigures) {
  const auto all = read_texts({kPricedArchitecture, kClasses, kPricedVariables}).components;
  const energy::Component& buffer = component(all, "Buffer");
  EXPECT_EQ(buffer.class_name, "my_buffer");  // the subclass
  EXPECT_EQ(actions(buffer), "2*read 2*write 2*update 2*leak ");
  ASSERT_EQ(buffer.primitives.size(), 1u);
  EXPECT_EQ(buffer.primitives[0].area_weight, 0.5);
  EXPECT_EQ(energy::text(*energy::find(buffer.primitives[0].attributes, "width")), "64");
}

TEST(EnergyComponents, AttributesAreInheritedAndPropagated) {
  const auto all = read_texts({kPricedArchitecture, kClasses, kPricedVariables}).components;
  EXPECT_EQ(attribute(component(all, "DRAM"), "latency"), "1ns");
  EXPECT_EQ(attribute(component(all, "Buffer"), "latency"), "2ns");
  EXPECT_EQ(attribute(component(all, "MAC"), "technology"), "32nm");
  EXPECT_EQ(attribute(component(all, "MAC"), "cycle_seconds"), "1e-09");
  EXPECT_EQ(attribute(component(all, "MAC"), "n_instances"), "1");
  EXPECT_EQ(attribute(component(all, "Registers"), "n_banks"), "2");  // the front end's default
  EXPECT_EQ(attribute(component(all, "MAC"), "n_banks"), "-");
}

TEST(EnergyComponents, TheOrderOfDocumentsChangesNothing) {
  std::vector<std::string> texts = {kPricedArchitecture, kClasses, kPricedVariables};
  const auto first = read_texts(texts).components;
  std::sort(texts.begin(), texts.end());
  do {
    const auto other = read_texts(texts).components;
    ASSERT_EQ(other.size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(other[i].table_name, first[i].table_name);
      EXPECT_EQ(actions(other[i]), actions(first[i]));
      EXPECT_EQ(other[i].attributes, first[i].attributes);
    }
  } while (std::next_permutation(texts.begin(), texts.end()));
}

TEST(EnergyComponents, AnERTLeavesNothingToEstimate) {
  const std::string ert =
      "ERT: {version: 0.4, tables: ["
      "{name: DRAM, actions: [{name: read, energy: 1}, {name: write, energy: 1}]},"
      "{name: Buffer, actions: [{name: read, energy: 1}, {name: write, energy: 1}]},"
      "{name: Registers, actions: [{name: read, energy: 1}, {name: write, energy: 1}]},"
      "{name: MAC, actions: [{name: compute, energy: 1}]}]}\n";
  const Specification specification =
      read_texts({kPricedArchitecture, "compound_components: {classes: 3}\n", kPricedVariables, ert});
  EXPECT_TRUE(specification.components.empty());
  EXPECT_TRUE(specification.has_energy_tables);
  EXPECT_FALSE(read_texts({kPricedArchitecture, kClasses, kPricedVariables}).has_energy_tables);
}

TEST(EnergyComponents, WithoutTechnologyOrCycleThereIsOneError) {
  EXPECT_EQ(codes({kPricedArchitecture, kClasses, "variables: {n: 4}\n"}), "O0601 ");
  EXPECT_EQ(codes({kPricedArchitecture, kClasses, "variables: {n: 4, technology: 32nm}\n"}), "O0601 ");
  ReadOptions options;
  options.energies_required = false;
  EXPECT_EQ(codes({kPricedArchitecture, kClasses, "variables: {n: 4}\n"}, options), "");
}

const char* const kOld = R"(
architecture:
  version: 0.3
  subtree:
  - name: system
    attributes: {technology: 32nm, global_cycle_seconds: 1e-9}
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 64, word-bits: 8}}
    subtree:
    - name: chip
      local: [{name: Buffer, class: my_store, attributes: {depth: DEPTH, width: 8, word-bits: 8}}]
      subtree:
      - name: PE[0..3]
        local:
        - {name: "Registers[0..1]", class: SRAM, attributes: {depth: 1, width: 8, word-bits: 8}}
        - {name: "MAC[0..1]", class: intmac, attributes: {datawidth: 8}}
compound_components:
  version: 0.3
  classes:
  - name: my_store
    subcomponents: [{name: store, class: SRAM}]
    actions: [{name: ACTION, subcomponents: [{name: store, actions: [{name: read}]}]}]
)";

std::string old_form(const std::string& depth, const std::string& action) {
  std::string text = kOld;
  text.replace(text.find("DEPTH"), 5, depth);
  text.replace(text.find("ACTION"), 6, action);
  return text;
}

TEST(EnergyComponents, OldFormsAskForTheActionsOfTheirClasses) {
  const auto all = read_texts({old_form("0", "access")}).components;
  EXPECT_EQ(names(all), (std::vector<std::string>{"system.DRAM", "system.chip.PE[0..3].Registers[0..1]",
                                                  "system.chip.PE[0..3].MAC[0..1]", "system.chip.Buffer"}));
  EXPECT_EQ(actions(component(all, "Buffer")), "1*access ");
  EXPECT_EQ(actions(component(all, "MAC")), "1*mac_random ");
  EXPECT_TRUE(component(all, "MAC").actions[0].arguments.empty());
  EXPECT_EQ(attribute(component(all, "DRAM"), "word_bits"), "8");
  EXPECT_EQ(attribute(component(all, "DRAM"), "n_banks"), "-");
}

TEST(EnergyComponents, AStorageThatCanBeReadNeedsAPriceOfIt) {
  EXPECT_EQ(codes({old_form("0", "access")}), "");
  EXPECT_EQ(codes({old_form("4", "access")}), "");  // it stands for all, as in Timeloop
  EXPECT_EQ(codes({old_form("4", "read")}), "O1215 O1215 ");
  ReadOptions options;
  options.energies_required = false;
  EXPECT_EQ(codes({old_form("4", "access")}, options), "");
}

TEST(EnergyComponents, ANetworkNeedsAPriceOfItsTransfers) {
  std::string text = kPricedArchitecture;
  const std::string mac = "  - !Component {name: MAC";
  text.insert(text.find(mac), "  - !Component {name: Bus, class: CLASS, attributes: {per_datatype_ERT: true}}\n");
  const auto of = [&](const std::string& name) {
    std::string one = text;
    return one.replace(one.find("CLASS"), 5, name);
  };
  EXPECT_EQ(codes({of("SimpleMulticast"), kClasses, kPricedVariables}), "O0325 O1223 ");
  // Priced by hops, not by transfers.
  EXPECT_EQ(read_texts({of("Legacy"), kClasses, kPricedVariables}).components.size(), 5u);
}

TEST(EnergyComponents, AFaultOfAClassIsSaidOnce) {
  std::string classes = kClasses;
  classes.replace(classes.find("attributes: {width: width}"), 26, "attributes: {width: width}, colour: red");
  std::string text = kPricedArchitecture;
  text.replace(text.find("class: SRAM"), 11, "class: my_buffer");
  EXPECT_EQ(codes({text, classes, kPricedVariables}), "O1216 O1215 ");
}

TEST(EnergyComponents, AVariableThatNobodyReadsMayBeWrong) {
  EXPECT_EQ(codes({kPricedArchitecture, kClasses,
                   "variables: {version: 0.4, technology: 32nm, global_cycle_seconds: 1e-9, n: 4, odd: 1 / 0}\n"}),
            "");
}

}  // namespace
}  // namespace orrery::formats::timeloop
