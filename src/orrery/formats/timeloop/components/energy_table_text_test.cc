#include "orrery/formats/timeloop/components/energy_table_text.h"

#include <gtest/gtest.h>

#include "orrery/formats/timeloop/architecture/apply_estimates.h"
#include "orrery/formats/timeloop/architecture/energy_tables.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

energy::Share share(std::string primitive, std::string action, std::string estimator) {
  energy::Share result;
  result.primitive = std::move(primitive);
  result.action = std::move(action);
  result.figure.value = 1;
  result.figure.accuracy_percent = 80;
  result.figure.estimator = std::move(estimator);
  result.figure.source = "a book: \"Memories\", 32 nm";
  return result;
}

energy::EstimatedComponent component(std::string name, std::string range, double area) {
  energy::EstimatedComponent result;
  result.name = name;
  result.table_name = "System_top_level." + name + range;
  result.area_um2 = area;
  result.area_accuracy_percent = 80;
  result.area_source = "a book";
  return result;
}

void price(energy::EstimatedComponent& of, std::string action, energy::Attributes arguments, double energy) {
  energy::EstimatedAction result;
  result.name = std::move(action);
  result.arguments = std::move(arguments);
  result.energy_pj = energy;
  result.accuracy_percent = 80;
  result.source = "a book";
  of.actions.push_back(std::move(result));
}

// A storage, a fan-out, a network and a compute unit.
std::vector<energy::EstimatedComponent> estimates() {
  const energy::Attributes cycle = {{"global_cycle_seconds", 1.2e-9}, {"action_latency_cycles", Count{1}}};
  auto buffer = component("Buffer", "[1..4]", 901693);
  price(buffer, "read", cycle, 54.0501);
  price(buffer, "read", {{"data_delta", Count{0}}}, 60.5);
  price(buffer, "write", cycle, 512);
  price(buffer, "leak", cycle, 1.0574e-7);
  buffer.actions[0].shares = {share("Buffer.storage", "read", "sram"), share("Buffer.storage", "read", "sram")};
  buffer.area_shares = {share("Buffer", "", "sram")};
  auto fan_out = component("inter_PE_spatial", "[1..4]", 0);
  auto network = component("NoC", "", 12.5);
  for (Count n = 1; n <= 3; ++n)
    price(network, "transfer_Inputs", {{"num_destinations", n}}, 0.5 * static_cast<double>(n));
  auto mac = component("MAC", "[1..16]", 255.76);
  price(mac, "compute", {{"technology", std::string("true")}, {"note", std::string("a: b # c")}}, 0.276923);
  return {buffer, fan_out, network, mac};
}

machine::Chip chip() {
  machine::Chip result;
  machine::Storage buffer;
  buffer.name = "Buffer";
  machine::Storage fan_out;
  fan_out.name = "inter_PE_spatial";
  fan_out.pass_through = true;
  result.storages = {fan_out, buffer};
  machine::Network network;
  network.name = "NoC";
  network.class_name = "SimpleMulticast";
  result.networks = {network};
  result.compute.name = "MAC";
  return result;
}

TEST(EnergyTableText, IsWrittenAsAccelergyWritesIt) {
  EXPECT_EQ(energy_table_text(std::vector{estimates()[0]}), R"(ERT:
    version: '0.4'
    tables:
      - name: System_top_level.Buffer[1..4]
        actions:
          - name: read
            arguments:
                action_latency_cycles: 1
                global_cycle_seconds: 1.2e-09
            energy: 54.0501
          - name: read
            arguments:
                data_delta: 0
            energy: 60.5
          - name: write
            arguments:
                action_latency_cycles: 1
                global_cycle_seconds: 1.2e-09
            energy: 512.0
          - name: leak
            arguments:
                action_latency_cycles: 1
                global_cycle_seconds: 1.2e-09
            energy: 1.0574e-07
)");
  EXPECT_EQ(area_table_text(std::vector{estimates()[0], estimates()[1]}), R"(ART:
    version: '0.4'
    tables:
      - name: System_top_level.Buffer[1..4]
        area: 901693.0
      - name: System_top_level.inter_PE_spatial[1..4]
        area: 0.0
)");
}

TEST(EnergyTableText, WhatIsReadBackIsWhatIsAppliedAtOnce) {
  machine::Chip direct = chip();
  apply_estimates(estimates(), direct);
  EXPECT_EQ(direct.storages[1].energy.read_pj, 60.5);   // the largest over arguments
  EXPECT_EQ(direct.storages[1].energy.update_pj, 512);  // falls back on write
  EXPECT_EQ(direct.storages[0].area_um2, 0);

  machine::Chip read = chip();
  base::Diagnostics found;
  const yaml::Node ert = testing::parse(energy_table_text(estimates()));
  const yaml::Node art = testing::parse(area_table_text(estimates()));
  apply_energies(*ert.find("ERT"), read, found);
  apply_areas(*art.find("ART"), read, found);
  EXPECT_TRUE(found.all().empty()) << testing::words(found);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.storages[i].energy.read_pj, direct.storages[i].energy.read_pj);
    EXPECT_EQ(read.storages[i].energy.write_pj, direct.storages[i].energy.write_pj);
    EXPECT_EQ(read.storages[i].energy.update_pj, direct.storages[i].energy.update_pj);
    EXPECT_EQ(read.storages[i].energy.leak_pj_per_cycle, direct.storages[i].energy.leak_pj_per_cycle);
    EXPECT_EQ(read.storages[i].area_um2, direct.storages[i].area_um2);
  }
  EXPECT_EQ(read.networks[0].energy_pj, direct.networks[0].energy_pj);
  EXPECT_EQ(direct.networks[0].energy_pj.at("transfer_Inputs").at(3), 1.5);
  EXPECT_EQ(read.networks[0].area_um2, direct.networks[0].area_um2);
  EXPECT_EQ(read.compute.compute_pj, direct.compute.compute_pj);
  EXPECT_EQ(direct.compute.compute_pj, 0.276923);
  EXPECT_EQ(read.compute.area_um2, direct.compute.area_um2);
}

TEST(EnergyTableText, EntriesWithRangesInSubtreesAreFoundAgain) {
  auto all = estimates();
  all[0].table_name = "system.chip.PE[0..3].Buffer[0..1]";
  all[3].table_name = "system.chip.PE[0..3].MAC";
  machine::Chip read = chip();
  base::Diagnostics found;
  const yaml::Node ert = testing::parse(energy_table_text(all));
  apply_energies(*ert.find("ERT"), read, found);
  EXPECT_TRUE(found.all().empty()) << testing::words(found);
  EXPECT_EQ(read.storages[1].energy.read_pj, 60.5);
}

TEST(EnergyTableText, SummariesNameTheOriginOfEachPrimitiveOnce) {
  const yaml::Node energies = testing::parse(energy_summary_text(estimates()));
  const yaml::Node& buffer = energies.find("ERT_summary")->find("table_summary")->items.at(0);
  const yaml::Node& origins = *buffer.find("primitive_estimation(s)");
  ASSERT_EQ(origins.items.size(), 1u);
  EXPECT_EQ(origins.items[0].find("name")->scalar, "storage");
  EXPECT_EQ(origins.items[0].find("estimator")->scalar, "sram");
  EXPECT_EQ(origins.items[0].find("accuracy_percent")->scalar, "80.0");
  EXPECT_EQ(origins.items[0].find("source")->scalar, "a book: \"Memories\", 32 nm");
  EXPECT_EQ(energies.find("ERT_summary")->find("table_summary")->items.size(), 3u);  // a free fan-out has no actions
  const yaml::Node areas = testing::parse(area_summary_text(estimates()));
  const yaml::Node& area = areas.find("ART_summary")->find("table_summary")->items.at(0);
  EXPECT_EQ(area.find("primitive_estimations")->items[0].find("name")->scalar, "System_top_level.Buffer[1..4]");
}

TEST(EnergyTableText, AStorageThatHoldsNothingNeedsNoPrice) {
  machine::Chip one = chip();
  one.storages[1].capacity_words = 0;
  auto all = estimates();
  all[0].actions.resize(1);
  all[0].actions[0].name = "leak";
  apply_estimates(all, one);
  EXPECT_EQ(one.storages[1].energy.read_pj, 0);
}

}  // namespace
}  // namespace orrery::formats::timeloop
