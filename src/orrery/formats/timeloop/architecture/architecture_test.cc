#include "orrery/formats/timeloop/architecture/architecture.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/architecture/energy_tables.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;

struct Read {
  std::vector<yaml::Node> documents;
  Architecture architecture;
  base::Diagnostics found;

  std::string codes() const {
    std::string all;
    for (const auto& diagnostic : found.all()) all += (all.empty() ? "" : " ") + diagnostic.code;
    return all;
  }
  const machine::Storage& storage(const std::string& name) const {
    const int level = architecture.chip.storage_index(name);
    EXPECT_GE(level, 0) << name;
    return architecture.chip.storages.at(static_cast<std::size_t>(level));
  }
};

Read read_text(const std::string& text) {
  Read read;
  const auto file = base::source(text, "arch.yaml");
  read.documents = yaml::parse(file, base::Severity::kError, read.found);
  if (read.documents.empty()) return read;
  const yaml::Node* architecture = read.documents[0].find("architecture");
  static const Scope kNone;
  Scope variables;
  if (const yaml::Node* given = read.documents[0].find("variables")) variables.define_all(*given);
  read.architecture = read_architecture(*architecture, variables, read.found);
  return read;
}

// Nodes of a small v4 chip; `inner` goes between the buffer and the MAC.
std::string small_chip(const std::string& buffer_attributes, const std::string& inner = "") {
  return "architecture:\n  version: 0.4\n  nodes:\n"
         "  - !Component {name: DRAM, class: DRAM, attributes: {width: 64, datawidth: 8}}\n"
         "  - !Component {name: Buffer, class: SRAM, attributes: {" +
         buffer_attributes + "}}\n" + inner + "  - !Component {name: MAC, class: intmac}\n";
}

TEST(Architecture, ContainersWithAMeshBecomePassThroughLevelsAndMultiplyTheMeshBelow) {
  const Read read = read_text(small_chip("depth: 64, width: 16, datawidth: 8",
                                         "  - !Container {name: Rows, spatial: {meshY: 4}}\n"
                                         "  - !Component {name: Acc, class: SRAM, attributes: {depth: 8, width: 16}}\n"
                                         "  - !Container {name: Cols, spatial: {meshX: 2}}\n"));
  ASSERT_EQ(read.codes(), "");
  const auto& chip = read.architecture.chip;
  ASSERT_EQ(chip.storages.size(), 5u);
  const std::vector<std::string> inner_to_outer = {"inter_Cols_spatial", "Acc", "inter_Rows_spatial", "Buffer", "DRAM"};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(chip.storages[i].name, inner_to_outer[i]);
  EXPECT_TRUE(chip.storages[0].pass_through);
  EXPECT_EQ(chip.storages[0].instances, 4);
  EXPECT_EQ(chip.storages[1].mesh_y, 4);
  EXPECT_EQ(chip.storages[2].instances, 1);
  EXPECT_EQ(chip.compute.mesh_x, 2);
  EXPECT_EQ(chip.compute.instances, 8);
  EXPECT_EQ(chip.fanout_x(0), 2);
  EXPECT_EQ(chip.fanout_y(2), 4);
  EXPECT_EQ(target_level(chip, "Rows"), 2);
  EXPECT_EQ(target_level(chip, "Acc"), 1);
  EXPECT_EQ(target_level(chip, "Elsewhere"), -1);
}

TEST(Architecture, BlocksCapacityAndBandwidthFollowTimeloopsRules) {
  const Read read =
      read_text(small_chip("depth: 2*32, width: datawidth * 4, datawidth: 8, bandwidth: 6, multiple_buffering: 2"));
  ASSERT_EQ(read.codes(), "");
  const auto& buffer = read.storage("Buffer");
  EXPECT_EQ(buffer.word_bits, 8);
  EXPECT_EQ(buffer.block_size, 4);
  EXPECT_EQ(buffer.capacity_words, 256);
  EXPECT_EQ(buffer.read_words_per_cycle, 3.0);
  EXPECT_EQ(buffer.write_words_per_cycle, 3.0);
  EXPECT_FALSE(buffer.shared_words_per_cycle.has_value());
  EXPECT_EQ(read.architecture.chip.usable_words(0), 128);
  EXPECT_EQ(read.storage("DRAM").block_size, 8);
  EXPECT_FALSE(read.storage("DRAM").capacity_words.has_value());
  EXPECT_TRUE(read.storage("DRAM").is_dram);
}

TEST(Architecture, TimeloopsOtherNamesOfAnAttributeMeanTheSame) {
  const Read plain = read_text(small_chip("depth: 64, width: 32, datawidth: 8"));
  ASSERT_EQ(plain.codes(), "");
  for (const char* attributes : {"memory_depth: 64, memory_width: 32, word_width: 8",
                                 "data_storage_depth: 64, data_storage_width: 32, word-bits: 8",
                                 "data_storage_depth: 64, n_words: 4, datawidth: 8"}) {
    const Read read = read_text(small_chip(attributes));
    ASSERT_EQ(read.codes(), "") << attributes;
    EXPECT_EQ(read.storage("Buffer").word_bits, 8) << attributes;
    EXPECT_EQ(read.storage("Buffer").block_size, plain.storage("Buffer").block_size) << attributes;
    EXPECT_EQ(read.storage("Buffer").capacity_words, plain.storage("Buffer").capacity_words) << attributes;
  }
  const Read both = read_text(small_chip("depth: 64, memory_depth: 1, width: 32, datawidth: 8"));
  EXPECT_EQ(both.storage("Buffer").capacity_words, 256) << "as Timeloop reads them, `depth` comes first";
}

TEST(Architecture, ClusterSizeDividesTheWidth) {
  const Read read = read_text(small_chip("depth: 1, width: 512, cluster_size: 64, datawidth: 8"));
  ASSERT_EQ(read.codes(), "");
  EXPECT_EQ(read.storage("Buffer").block_size, 1);
  EXPECT_EQ(read.storage("Buffer").capacity_words, 1);
}

TEST(Architecture, SizeInKilobytesCountsWords) {
  EXPECT_EQ(read_text(small_chip("sizeKB: 2, width: 16, datawidth: 16")).storage("Buffer").capacity_words, 1024);
}

TEST(Architecture, AttributesAreInheritedAndInnerOnesWin) {
  const Read read = read_text(
      "variables: {global_cycle_seconds: 2e-9, SIZE: 32}\n"
      "architecture:\n  version: 0.4\n  WORD: 8\n  nodes:\n"
      "  - !Container {name: System, attributes: {datawidth: WORD}}\n"
      "  - !Component {name: DRAM, class: DRAM}\n"
      "  - !Component {name: Buffer, class: SRAM, attributes: {entries: SIZE * WORD, datawidth: datawidth * 2}}\n"
      "  - !Component {name: MAC, class: intmac}\n");
  ASSERT_EQ(read.codes(), "");
  EXPECT_EQ(read.storage("DRAM").word_bits, 8);
  EXPECT_EQ(read.storage("Buffer").word_bits, 16);
  EXPECT_EQ(read.storage("Buffer").capacity_words, 256);
  EXPECT_EQ(read.architecture.chip.compute.word_bits, 8);
  EXPECT_EQ(read.architecture.chip.cycle_seconds, 2e-9);
  EXPECT_EQ(read.architecture.chip.name, "System");
}

TEST(Architecture, VariablesAreAttributesOfAllComponents) {
  const Read read = read_text("variables: {datawidth: BITS * 2, BITS: 4}\n" + small_chip("depth: 8, width: 16"));
  ASSERT_EQ(read.codes(), "");
  EXPECT_EQ(read.storage("Buffer").word_bits, 8);
  EXPECT_EQ(read.storage("Buffer").block_size, 2);
  EXPECT_EQ(read.architecture.chip.compute.word_bits, 8);
}

TEST(Architecture, ParallelBranchesStandSideBySide) {
  const Read read = read_text(small_chip("depth: 8, width: 16",
                                         "  - !Parallel\n    nodes:\n"
                                         "    - !Component {name: A, class: SRAM, attributes: {depth: 1, width: 16}}\n"
                                         "    - !Component {name: B, class: SRAM, attributes: {depth: 1, width: 16}}\n"
                                         "    - !Nothing {constraints: {dataspace: {keep: [Inputs]}}}\n"));
  ASSERT_EQ(read.codes(), "");
  ASSERT_EQ(read.architecture.parallel.size(), 1u);
  const auto& branches = read.architecture.parallel[0].branches;
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(branches[0].levels, std::vector<int>{1});
  EXPECT_EQ(branches[1].levels, std::vector<int>{0});
  EXPECT_TRUE(branches[2].levels.empty());
  EXPECT_NE(branches[2].nothing, nullptr);
}

TEST(Architecture, ConstraintsInsideNodesAreHandedOn) {
  const Read read = read_text(
      small_chip("depth: 8, width: 16",
                 "  - !Container {name: Rows, spatial: {meshX: 2}, constraints: {spatial: {factors: [D=2]}}}\n"));
  ASSERT_EQ(read.codes(), "");
  ASSERT_EQ(read.architecture.attached.size(), 1u);
  EXPECT_EQ(read.architecture.attached[0].target, "Rows");
  EXPECT_NE(read.architecture.attached[0].body->find("spatial"), nullptr);
}

TEST(Architecture, DisabledNodesAreLeftOut) {
  const Read read =
      read_text(small_chip("depth: 8, width: 16", "  - !Component {name: X, class: SRAM, enabled: false}\n"));
  EXPECT_EQ(read.codes(), "");
  EXPECT_EQ(read.architecture.chip.storage_index("X"), -1);
}

TEST(Architecture, RangesOfV3NamesMultiply) {
  const Read read = read_text(
      "architecture:\n  version: 0.3\n  subtree:\n"
      "  - name: System\n    local: [{name: DRAM, class: DRAM, attributes: {word-bits: 8, block-size: 4}}]\n"
      "    subtree:\n    - name: Cols[0..3]\n"
      "      local: [{name: Acc, class: SRAM, attributes: {entries: 8, instances: 4}}]\n"
      "      subtree:\n      - name: Rows[0..1]\n"
      "        local: [{name: 'Reg[1..2]', class: SRAM, attributes: {entries: 1, meshX: 4}},\n"
      "                {name: 'MAC[1..2]', class: intmac, attributes: {meshX: 4, meshY: 4}}]\n");
  ASSERT_EQ(read.codes(), "");
  EXPECT_EQ(read.storage("DRAM").block_size, 4);
  EXPECT_EQ(read.storage("Acc").mesh_x, 4);
  EXPECT_EQ(read.storage("Reg").instances, 16);
  EXPECT_EQ(read.storage("Reg").mesh_y, 4);
  EXPECT_TRUE(read.architecture.v3);
}

TEST(Architecture, NetworksStandAside) {
  const Read read = read_text(small_chip(
      "depth: 8, width: 16, network_read: Net",
      "  - !Component {name: Net, class: SimpleMulticast, attributes: {per_datatype_ERT: True, datawidth: 8}}\n"));
  ASSERT_EQ(read.codes(), "");
  ASSERT_EQ(read.architecture.chip.networks.size(), 1u);
  EXPECT_TRUE(read.architecture.chip.networks[0].per_dataspace);
  EXPECT_EQ(read.architecture.chip.storages.size(), 2u);
  EXPECT_EQ(read.storage("Buffer").network_read, "Net");
}

TEST(Architecture, AUsersOwnDummyBufferIsAStorage) {
  const Read read = read_text(small_chip("depth: 8, width: 16",
                                         "  - !Component {name: dummy_buffer, class: dummy_storage, attributes: "
                                         "{depth: 0, width: 16, datawidth: 8}}\n"));
  EXPECT_FALSE(read.storage("dummy_buffer").pass_through);
  EXPECT_EQ(read.storage("dummy_buffer").capacity_words, 0);
}

// One bad chip for every code.
struct Bad {
  const char* codes;
  std::string text;
};

std::string with_nodes(const std::string& nodes) {
  return "architecture:\n  version: 0.4\n  nodes:\n" + nodes;
}

TEST(Architecture, EveryMistakeHasItsCode) {
  const std::string dram = "  - !Component {name: DRAM, class: DRAM}\n";
  const std::string mac = "  - !Component {name: MAC, class: intmac}\n";
  const std::vector<Bad> cases = {
      {"O0301", "architecture:\n  version: 0.7\n  nodes:\n" + dram + mac},
      {"O0302", "architecture:\n  version: 0.4\n"},
      {"O0302", "architecture: 7\n"},
      {"O0302", "architecture: {version: 0.4, nodes: [], subtree: []}\n"},
      {"O0303", with_nodes(dram + "  - !Container {name: R, spatial: {meshX: 4}}\n" +
                           "  - !Component {name: MAC, class: intmac, attributes: {meshX: 8}}\n")},
      {"O0304",
       "architecture: {version: 0.3, subtree: [{name: S, local: [{name: D, class: DRAM}, "
       "{name: M, class: mac, attributes: {meshX: 3, instances: 4}}]}]}\n"},
      {"O0305", with_nodes(dram + "  - !Componnt {name: X, class: SRAM}\n" + mac)},
      {"O0305", with_nodes(dram + "  - {name: X, class: SRAM}\n" + mac)},
      {"O0306", with_nodes(dram + "  - !Component {class: SRAM}\n" + mac)},
      {"O0306", with_nodes(dram + "  - !Component {name: X}\n" + mac)},
      {"O0307", with_nodes(dram + "  - !Component {name: X, class: gizmo}\n" + mac)},
      {"O0308", with_nodes(dram + "  - !Component {name: X, class: intmac}\n" + mac)},
      {"O0309", with_nodes(dram + dram + mac)},
      {"O0310", with_nodes("  - !Component {name: DRAM, class: DRAM, attributes: {meshX: 2}}\n" + mac)},
      {"O0311", with_nodes(mac)},
      {"O0312", with_nodes(dram)},
      {"O0314", with_nodes(dram + "  - !Component {name: MAC, class: intmac, attributes: {meshX: 2, instances: 3}}\n")},
      {"O0316", small_chip("depth: 8, width: 16, multiple_buffering: 0.5")},
      {"O0317", small_chip("depth: 8, width: 16, read_bandwidth: 0")},
      {"O0318", small_chip("depth: 8, width: 16, network_read: Nowhere")},
      {"O0320", small_chip("depth: 8, width: 24")},
      {"O0320", small_chip("depth: 8, width: 8")},
      {"O0321", small_chip("depth: -8, width: 16")},
      {"O0322", small_chip("depth: 8, width: 16, read_bandwith: 4")},
      {"O0323", with_nodes(dram + "  - !Component {name: MAC, class: intmac, attribtes: {}}\n")},
      {"O0324", small_chip("depth: 8, width: 16, entries: 9")},
      {"O0325 O0325", small_chip("depth: 8, width: 16",
                                 "  - !Component {name: Net, class: Legacy, attributes: {router_energy: 1}}\n")},
      {"O0325", small_chip("depth: 8, width: 16, energy_per_hop: 1")},
      {"O0325", small_chip("depth: 8, width: 16, addr_gen_energy: 1")},
      {"O0325", small_chip("depth: 8, width: 16, per_dataspace_bandwidth_consumption_scale: {Inputs: 4}")},
      {"O0211", small_chip("depth: 8.5, width: 16")},
      {"O0212", small_chip("entries: 512KB, width: 16")},
      {"O0212", small_chip("entries: 8, width: 128b")},
      {"O0212", small_chip("depth: 8, width: 16, read_bandwidth: 16 GB/s")},
      {"O0201", small_chip("depth: 8 * DEPHT, width: 16")},
  };
  for (const Bad& bad : cases) EXPECT_EQ(read_text(bad.text).codes(), bad.codes) << bad.text;
}

TEST(Architecture, MisspeltAttributesAreNamed) {
  const Read read = read_text(small_chip("depth: 8, width: 16, read_bandwith: 4"));
  ASSERT_EQ(read.found.all().size(), 1u);
  EXPECT_EQ(read.found.all()[0].severity, base::Severity::kWarning);
  EXPECT_EQ(read.found.all()[0].hints.at(0), "did you mean `read_bandwidth`?");
}

Read read_shared(const std::string& name) {
  return read_text(yaml::read_file((base::kShared / name).string())->text);
}

TEST(ArchitectureOfUsers, ProcessedGemminiEqualsTheFormThatUsersWrite) {
  ORRERY_NEEDS_SHARED();
  const Read processed = read_shared("goldens/nest/gemmini/KTQ_large/input.yaml");
  const Read written = read_shared("seeds/timeloop-experiments/transformer_gemmini/arch/system_gemmini.yaml");
  ASSERT_EQ(processed.codes(), "");
  ASSERT_EQ(written.codes(), "");
  const auto& a = processed.architecture.chip;
  const auto& b = written.architecture.chip;
  ASSERT_EQ(a.storages.size(), 6u);
  ASSERT_EQ(b.storages.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(a.storages[i].name, b.storages[i].name);
    EXPECT_EQ(a.storages[i].instances, b.storages[i].instances) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].mesh_x, b.storages[i].mesh_x) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].mesh_y, b.storages[i].mesh_y) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].block_size, b.storages[i].block_size) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].word_bits, b.storages[i].word_bits) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].capacity_words, b.storages[i].capacity_words) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].read_words_per_cycle, b.storages[i].read_words_per_cycle) << a.storages[i].name;
    EXPECT_EQ(a.storages[i].pass_through, b.storages[i].pass_through) << a.storages[i].name;
  }
  EXPECT_EQ(a.compute.instances, 256);
  EXPECT_EQ(b.compute.instances, 256);
  EXPECT_EQ(processed.storage("Scratchpad").block_size, 16);
  EXPECT_EQ(processed.storage("Accumulator").capacity_words, 4096);
  EXPECT_EQ(processed.storage("inter_PECols_spatial").instances, 16);
  EXPECT_EQ(a.cycle_seconds, 1.2e-9);
}

TEST(ArchitectureOfUsers, EveryGoldenAndItsTablesMakeAChip) {
  ORRERY_NEEDS_SHARED();
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(base::kShared / "goldens" / "nest")) {
    if (entry.path().filename() != "input.yaml") continue;
    Read read = read_text(yaml::read_file(entry.path().string())->text);
    ASSERT_EQ(read.codes(), "") << entry.path();
    for (const char* key : {"ERT", "ART"}) {
      const fs::path file = entry.path().parent_path() / (std::string(key) + ".yaml");
      if (!fs::exists(file)) continue;
      const auto documents = yaml::parse(yaml::read_file(file.string()), base::Severity::kError, read.found);
      const yaml::Node* tables = documents.at(0).find(key);
      ASSERT_NE(tables, nullptr) << file;
      if (std::string(key) == "ERT") apply_energies(*tables, read.architecture.chip, read.found);
      if (std::string(key) == "ART") apply_areas(*tables, read.architecture.chip, read.found);
    }
    EXPECT_EQ(read.codes(), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 11);
}

TEST(ArchitectureOfUsers, PimHasItsNetworksAndFanOuts) {
  ORRERY_NEEDS_SHARED();
  Read read = read_shared("goldens/nest/pim/KTQ_large/input.yaml");
  const Read written = read_shared("seeds/timeloop-experiments/transformer_pim/arch_v0.4/system_PIM.yaml");
  ASSERT_EQ(read.codes(), "");
  ASSERT_EQ(written.codes(), "");
  ASSERT_EQ(written.architecture.chip.storages.size(), read.architecture.chip.storages.size());
  for (std::size_t i = 0; i < read.architecture.chip.storages.size(); ++i) {
    EXPECT_EQ(read.architecture.chip.storages[i].name, written.architecture.chip.storages[i].name);
    EXPECT_EQ(read.architecture.chip.storages[i].instances, written.architecture.chip.storages[i].instances);
  }
  const auto tables = yaml::parse(yaml::read_file((base::kShared / "goldens/nest/pim/KTQ_large/ERT.yaml").string()),
                                  base::Severity::kError, read.found);
  const yaml::Node* ert = tables.at(0).find("ERT");
  ASSERT_NE(ert, nullptr);
  apply_energies(*ert, read.architecture.chip, read.found);
  ASSERT_EQ(read.codes(), "");
  const auto& chip = read.architecture.chip;
  EXPECT_EQ(read.storage("DRAM").energy.read_pj, 512);
  EXPECT_EQ(read.storage("DRAM").block_size, 4);
  EXPECT_EQ(read.storage("shared_glb").energy.read_pj, 43.8762);
  EXPECT_EQ(read.storage("shared_glb").energy.write_pj, 40.8873);
  EXPECT_EQ(read.storage("inter_PECols_spatial").energy.leak_pj_per_cycle, 1);
  EXPECT_EQ(read.storage("inter_PECols_spatial").energy.read_pj, 1);
  EXPECT_EQ(read.storage("scratchpad").energy.update_pj, 0.0033);
  EXPECT_EQ(read.storage("dummy_buffer").capacity_words, 0);
  EXPECT_EQ(chip.compute.compute_pj, 0.01464);
  const auto* inputs = chip.network("D2A_NoC");
  ASSERT_NE(inputs, nullptr);
  EXPECT_TRUE(inputs->per_dataspace);
  EXPECT_EQ(inputs->energy_pj.at("transfer_Inputs").size(), 16u);
  EXPECT_EQ(chip.network("A2D_NoC")->energy_pj.at("transfer_Outputs").at(1), 2.08587);
}

TEST(ArchitectureOfUsers, AllSeedArchitecturesAreReadOrRefusedWithAReason) {
  const fs::path seeds = base::kShared / "seeds" / "timeloop-experiments";
  ORRERY_NEEDS_SHARED();
  int count = 0;
  for (const char* folder : {"transformer_gemmini/arch", "transformer_pim/arch", "transformer_pim/arch_v0.4"}) {
    for (const auto& entry : fs::directory_iterator(seeds / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      const Read read = read_text(yaml::read_file(entry.path().string())->text);
      EXPECT_FALSE(read.found.has_errors()) << entry.path() << " " << read.codes();
      EXPECT_GE(read.architecture.chip.storages.size(), 2u) << entry.path();
      ++count;
    }
  }
  EXPECT_EQ(count, 11);
  for (const char* file :
       {"transformer_aimc/arch.yaml", "transformer_aimc/arch_v2.yaml", "transformer_dimc/arch.yaml"}) {
    EXPECT_FALSE(read_shared(std::string("seeds/timeloop-experiments/") + file).found.has_errors()) << file;
  }
  // A storage without a class, which Timeloop's mapper leaves out.
  const Read sequential = read_shared("seeds/timeloop-experiments/transformer_dimc/arch_sequential.yaml");
  EXPECT_EQ(sequential.codes(), "O0306");
  EXPECT_FALSE(sequential.found.has_errors());
}

}  // namespace
}  // namespace orrery::formats::timeloop
