#include "orrery/formats/orrery/systems.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/damaged_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/orrery/quantity.h"

namespace orrery::formats::orrery {
namespace {

const std::string kCatalogueSystems = ORRERY_SOURCE_DIR "/catalog";

using base::Codes, base::codes, base::refused, base::replaced;

// A user's file that is right; each test breaks one thing.
const std::string kSmall = R"(system:
  node_size: 8
  accelerator:
    name: X
    peak: {bf16: 312 TFLOP/s}
    units: 108
    memory: 80 GB
    memory_bandwidth: 2 TB/s
  networks:
    - {name: inner, size: 8, bandwidth: 300 GB/s}
    - {name: outer, bandwidth: 200 Gbit/s, latency: 20 us}
)";

class Systems : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "mine.yaml") {
    return folder_.write(name, text);
  }
  SystemFile load(const std::string& text, const base::Overrides& overrides = {}) {
    return load_system(kCatalogueSystems, write(text), overrides);
  }
  Codes found(const std::string& text, const base::Overrides& overrides = {}) {
    return codes(refused([&] { load(text, overrides); }));
  }

  base::Folder folder_;
};

TEST_F(Systems, TheCatalogueHasThoseThatWerePromisedWithTitleAndSources) {
  std::set<std::string> names;
  for (const Entry& entry : list_systems(kCatalogueSystems)) {
    names.insert(entry.name);
    EXPECT_FALSE(entry.title.empty()) << entry.name;
    EXPECT_FALSE(entry.sources.empty()) << entry.name;
    EXPECT_GE(entry.figures.size(), 12u) << entry.name;
  }
  for (const char* name : {"v100-dgx1", "a100-selene", "vtrain-a100", "h100-llama3", "h800-deepseek", "tpu-v4",
                           "tpu-v5p", "b200-nvl72", "mi300x"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST_F(Systems, NoneHasMoreThanTwelveCalibratedConstants) {
  for (const Entry& entry : list_systems(kCatalogueSystems)) {
    const SystemFile file = load_system(kCatalogueSystems, entry.name);
    int calibrated = 0;
    for (const cluster::Constant& constant : file.system.constants)
      if (constant.origin == "fitted") {
        ++calibrated;
        EXPECT_FALSE(constant.fitted_on.empty()) << entry.name << ' ' << constant.name;
      }
    EXPECT_LE(calibrated, 12) << entry.name;
  }
}

TEST_F(Systems, FittedConstantsServeTheOtherA100SystemUnchanged) {
  const cluster::System vtrain = load_system(kCatalogueSystems, "vtrain-a100").system;
  const cluster::System selene = load_system(kCatalogueSystems, "a100-selene").system;
  EXPECT_EQ(vtrain.accelerator.matrix_efficiency, selene.accelerator.matrix_efficiency);
  EXPECT_EQ(vtrain.accelerator.host_seconds_per_op, selene.accelerator.host_seconds_per_op);
  EXPECT_EQ(vtrain.calibration.jitter_seconds, selene.calibration.jitter_seconds);
  EXPECT_EQ(vtrain.fabric.levels[0].collective_s, selene.fabric.levels[0].collective_s);
  EXPECT_EQ(2 * vtrain.fabric.levels[1].bytes_per_s, selene.fabric.levels[1].bytes_per_s);
}

TEST_F(Systems, QuantitiesAreReadInBaseUnits) {
  const cluster::System system = load(kSmall).system;
  EXPECT_EQ(system.accelerator.peak(machine::Precision::kBf16), 312e12);
  EXPECT_EQ(system.accelerator.peak(machine::Precision::kFp8), 0) << "not stated: not supported";
  EXPECT_EQ(system.accelerator.memory_bytes, 80e9);
  EXPECT_EQ(system.fabric.count, 2);
  EXPECT_EQ(system.fabric.levels[0].bytes_per_s, 300e9);
  EXPECT_EQ(system.fabric.levels[1].bytes_per_s, 25e9) << "bits become bytes";
  EXPECT_DOUBLE_EQ(system.fabric.levels[1].latency_s, 20e-6);
  EXPECT_EQ(system.fabric.levels[1].size, 0);
}

TEST_F(Systems, NetworksStateTheAlgorithmsTheyAllowBesidesRings) {
  const cluster::System plain = load(kSmall).system;
  const cluster::System more =
      load(replaced(kSmall, "{name: outer,", "{name: outer, doubling: true, trees: true,")).system;
  EXPECT_FALSE(plain.fabric.levels[1].doubling || plain.fabric.levels[1].trees);
  EXPECT_TRUE(more.fabric.levels[1].doubling && more.fabric.levels[1].trees);
  EXPECT_FALSE(more.fabric.levels[0].doubling);
  EXPECT_EQ(load(replaced(kSmall, "  node_size: 8", "  collective_algorithm: fastest\n  node_size: 8"))
                .system.fabric.algorithm,
            collective::Algorithm::kFastest);
  EXPECT_FALSE(found(replaced(kSmall, "{name: outer,", "{name: outer, doubling: fast,")).empty());
}

TEST_F(Systems, OverridesReachAnyFieldAndTheirPlaceIsTheCommandLine) {
  const cluster::System system = load_system(kCatalogueSystems, "a100-selene",
                                             {{"networks.1.bandwidth", "50 GB/s"},
                                              {"networks.NVLink.efficiency", "0.5"},
                                              {"accelerator.peak.bf16", "1 PFLOP/s"},
                                              {"calibration.jitter", "0 s"}})
                                     .system;
  EXPECT_EQ(system.fabric.levels[1].bytes_per_s, 50e9);
  EXPECT_EQ(system.fabric.levels[0].efficiency, 0.5);
  EXPECT_EQ(system.accelerator.peak(machine::Precision::kBf16), 1e15);
  EXPECT_EQ(system.calibration.jitter_seconds, 0);

  const auto wrong = refused([] { load_system(kCatalogueSystems, "a100-selene", {{"accelerator.memori", "80 GB"}}); });
  ASSERT_EQ(codes(wrong), Codes{"O1351"});
  EXPECT_EQ(wrong[0].primary.where.file->name, "<--set>");
  EXPECT_EQ(wrong[0].primary.where.column, 20);
  ASSERT_FALSE(wrong[0].hints.empty());
  EXPECT_NE(wrong[0].hints[0].find("memory"), std::string::npos);
}

TEST_F(Systems, OverridesOfWhatIsNotThereAreRefused) {
  EXPECT_EQ(found(kSmall, {{"networks.7.bandwidth", "1 GB/s"}}), Codes{"O1357"});
  EXPECT_EQ(found(kSmall, {{"node_size.value", "4"}}), Codes{"O1357"});
  EXPECT_EQ(found(kSmall, {{"networks.outer.latency", "fast"}}), Codes{"O1353"});
}

TEST_F(Systems, UnknownNamesComeWithTheNearest) {
  const auto wrong = refused([] { load_system(kCatalogueSystems, "a100-selen"); });
  ASSERT_EQ(codes(wrong), Codes{"O1350"});
  EXPECT_NE(wrong[0].hints.at(0).find("a100-selene"), std::string::npos);
}

TEST_F(Systems, EveryMistakeIsFoundAndPointedAt) {
  EXPECT_EQ(found(replaced(kSmall, "units: 108", "units: 108\n    unitz: 9")), Codes{"O1351"});
  EXPECT_EQ(found(replaced(kSmall, "units: 108", "units: 108\n    units: 9")), Codes{"O0102"});
  EXPECT_EQ(found(replaced(kSmall, "    memory: 80 GB\n", "")), Codes{"O1352"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "80")), Codes{"O1353"}) << "a unit is demanded";
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "80 GFLOP/s")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "-80 GB")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "1e308 GB")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "nan GB")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, "units: 108", "units: 1.5")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, ", size: 8", ", size: 12")), Codes{"O1356"});
  EXPECT_EQ(found(replaced(kSmall, ", size: 8", ", size: 8, topology: torus, torus: [2, 2]")), Codes{"O1356"});
  EXPECT_EQ(found(replaced(kSmall, ", size: 8", ", size: 8, topology: starr")), Codes{"O1353"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "{value: 80 GB, source: nowhere}")), Codes{"O1354"});
  EXPECT_EQ(found(replaced(kSmall, "80 GB", "{value: 80 GB}")), Codes{"O1354"});
  EXPECT_EQ(found(replaced(kSmall, "node_size: 8", "like: a100-selen\n  node_size: 8")), Codes{"O1355"});
  EXPECT_EQ(found("problem: {}\n"), Codes{"O1352"});
  EXPECT_EQ(found("system: 3\n").front(), "O1351" == found("system: 3\n").front() ? "O1351" : "O1353");
  const Codes both = found(replaced(replaced(kSmall, "80 GB", "80"), ", size: 8", ", size: 12"));
  EXPECT_EQ(both, (Codes{"O1353", "O1356"})) << "all at once";
}

TEST_F(Systems, DamagedFilesAreRefusedOrReadButNeverCrash) {
  EXPECT_TRUE(rc::check([this] {
    const std::string text = base::damaged(kSmall, "{}[]\",:0-9\n&*!");
    found(text);
    found(text, {{"networks.0.size", "1000000000"}, {"networks.1.size", "1000000000"}});
  }));
}

TEST_F(Systems, NetworksOfAnySizeTakeGroupsOfAnySize) {
  const cluster::System system =
      load(kSmall, {{"networks.0.size", "1000000000"}, {"networks.1.size", "1000000000"}}).system;
  EXPECT_EQ(collective::level_between(system.fabric, 2000000000), 1);
  EXPECT_EQ(collective::place(system.fabric, 2000000000, 1).joined[1], 2);
}

TEST_F(Systems, WhatIsLikeAnotherTakesOverTheRest) {
  const std::string path = write("system:\n  like: a100-selene\n  accelerator: {memory: 40 GB}\n");
  const cluster::System system = load_system(kCatalogueSystems, path).system;
  EXPECT_EQ(system.accelerator.memory_bytes, 40e9);
  EXPECT_EQ(system.accelerator.units, 108);
  EXPECT_EQ(system.node_size, 8);
}

TEST_F(Systems, BeingLikeOneselfIsRefused) {
  const std::string path = write(replaced(kSmall, "node_size: 8", "like: ./mine.yaml\n  node_size: 8"));
  const auto wrong = refused([&] { load_system(kCatalogueSystems, path); });
  EXPECT_EQ(codes(wrong), Codes{"O1355"});
}

TEST_F(Systems, ACircleOfSystemsIsToldWithEveryStepOfIt) {
  const std::string path = write("system: {like: ./b.yaml}\n", "a.yaml");
  write("system: {like: ./c.yaml}\n", "b.yaml");
  write("system: {like: ./b.yaml}\n", "c.yaml");
  const auto wrong = refused([&] { load_system(kCatalogueSystems, path); });
  ASSERT_EQ(codes(wrong), Codes{"O1355"});
  EXPECT_NE(wrong[0].message.find("`./b.yaml` -> `./c.yaml` -> `./b.yaml`"), std::string::npos) << wrong[0].message;
  EXPECT_EQ(wrong[0].message.find("a.yaml"), std::string::npos) << "which only leads into the circle";
  EXPECT_EQ(wrong[0].primary.where.line, 1);
  EXPECT_EQ(wrong[0].primary.where.column, 16);
}

TEST_F(Systems, AnAcceleratorOfAnotherNameHasNoPriceOfTheFirst) {
  EXPECT_GT(load("system: {like: dgx-h100, accelerator: {memory: 96 GB}}\n").system.price_per_gpu_hour, 0);
  EXPECT_EQ(load("system: {like: dgx-h100, accelerator: {name: H20}}\n").system.price_per_gpu_hour, 0);
  EXPECT_EQ(load("system: {like: dgx-h100, accelerator: {name: H20, price: 3 USD/h}}\n").system.price_per_gpu_hour, 3);
  // Nor does it compute in what the other does, where it has peaks of its own.
  const auto fp8 = [&](const std::string& text) {
    return load(text).system.accelerator.peak(machine::Precision::kFp8);
  };
  EXPECT_GT(fp8("system: {like: dgx-h100, accelerator: {name: H20}}\n"), 0);
  EXPECT_EQ(fp8("system: {like: dgx-h100, accelerator: {name: A6000, peak: {bf16: 155 TFLOP/s}}}\n"), 0);
  EXPECT_GT(fp8("system: {like: dgx-h100, accelerator: {peak: {bf16: 155 TFLOP/s}}}\n"), 0);
}

TEST_F(Systems, AChipTakesThePlaceOfAnotherSystemsFiguresButNotOfItsPrice) {
  const SystemFile file = load("system:\n  like: dgx-h100\n  accelerator: {chip: tpu-v4i}\n");
  ASSERT_TRUE(file.chip.has_value());
  EXPECT_EQ(file.chip->name, "tpu-v4i");
  EXPECT_FALSE(file.chip->memory_where.known());
  const cluster::System other = load_system(kCatalogueSystems, "dgx-h100").system;
  EXPECT_EQ(file.system.price_per_gpu_hour, other.price_per_gpu_hour);
  EXPECT_EQ(file.system.accelerator.host_seconds_per_op, other.accelerator.host_seconds_per_op);
  EXPECT_EQ(file.system.watts_per_gpu, 0);
  EXPECT_EQ(file.system.accelerator.peak(machine::Precision::kBf16), 0);
  write("architecture: {}\n", "chip.yaml");
  EXPECT_EQ(load("system:\n  like: dgx-h100\n  accelerator: {chip: ./chip.yaml}\n").chip->name,
            folder_.path().lexically_normal() / "chip.yaml")
      << "from the folder of the file that names it";
}

TEST(Quantity, TakesPrefixesAndRefusesEverythingElse) {
  EXPECT_EQ(quantity("80 GiB", Unit::kBytes), 80 * 1073741824.0);
  EXPECT_EQ(quantity("12.5GB/s", Unit::kBytesPerSecond), 12.5e9);
  EXPECT_EQ(quantity("800 Gbit/s", Unit::kBytesPerSecond), 100e9);
  EXPECT_EQ(quantity("5 s", Unit::kSeconds), 5);
  EXPECT_EQ(quantity("0.5", Unit::kNone), 0.5);
  EXPECT_EQ(quantity("25e9", Unit::kBytesPerSecond), 25e9) << "an exponent is of base units";
  EXPECT_FALSE(quantity("25", Unit::kBytesPerSecond));
  for (const char* text : {"", "s", "1 m", "1 Es", "1 s s", "inf s", "0x10 s", "1e999 s", "1 GGs"})
    EXPECT_FALSE(quantity(text, Unit::kSeconds)) << text;
}

TEST_F(Systems, FiguresInAUnitWrongByAThousandAreDoubtedAndCatalogueEntriesAreNot) {
  const auto doubts = [&](const std::string& text) {
    return codes(load_system(kCatalogueSystems, write(text)).diagnostics.all());
  };
  EXPECT_EQ(doubts(kSmall), Codes{});
  EXPECT_EQ(doubts(replaced(kSmall, "312 TFLOP/s", "312 GFLOP/s")), Codes{"O1380"});
  EXPECT_EQ(doubts(replaced(kSmall, "80 GB", "80 MB")), Codes{"O1380"});
  EXPECT_EQ(doubts(replaced(kSmall, "2 TB/s", "2 GB/s")), Codes{"O1380"});
  EXPECT_EQ(doubts(replaced(kSmall, "300 GB/s", "300 TB/s")), Codes{"O1380"});
  EXPECT_EQ(doubts(replaced(kSmall, "20 us", "20 ms")), Codes{"O1380"});
  for (const Entry& entry : list_systems(kCatalogueSystems))
    EXPECT_EQ(codes(load_system(kCatalogueSystems, entry.name).diagnostics.all()), Codes{}) << entry.name;
  const SystemFile set = load_system(kCatalogueSystems, "dgx-h100", {{"accelerator.peak.bf16", "989 GFLOP/s"}});
  EXPECT_EQ(codes(set.diagnostics.all()), Codes{"O1380"});
}

TEST(UnusualFigures, OneThatIsSaidToBeMeantIsNotDoubted) {
  const base::Folder folder;
  const auto warnings = [&](const char* peak) {
    const std::string path =
        folder.write("mine.yaml", replaced(kSmall, "{bf16: 312 TFLOP/s}", std::string("{bf16: ") + peak + "}"));
    return codes(load_system(kCatalogueSystems, path).diagnostics.all());
  };
  EXPECT_EQ(warnings("{value: 0.9 TFLOP/s, assumption: a study}"), Codes{"O1380"});
  EXPECT_EQ(warnings("{value: 0.9 TFLOP/s, assumption: a study, unusual: true}"), Codes{});
  EXPECT_EQ(warnings("{value: 0.9 TFLOP/s, assumption: a study, unusual: false}"), Codes{"O1380"});
}

TEST(TorusSlices, ASliceIsATorusOfItsOwnAndNoLargerThanTheWhole) {
  const auto fabric = [](const char* slice) {
    return load_system(kCatalogueSystems, "tpu-v6e", {{"networks.ICI.slice", slice}}).system.fabric.levels[0];
  };
  EXPECT_EQ(fabric("8x8").size, 64);
  EXPECT_EQ(fabric("8x8").torus[0], 8);
  EXPECT_EQ(fabric("4x16").torus[1], 16);
  EXPECT_EQ(fabric("16x16").size, load_system(kCatalogueSystems, "tpu-v6e").system.fabric.levels[0].size);
  EXPECT_EQ(codes(refused([&] { fabric("32x8"); })), Codes{"O1356"});
  for (const char* wrong : {"8", "8x8x8", "8x", "x8", "0x8", "1.5x8", "axb", "-8x8"})
    EXPECT_EQ(codes(refused([&] { fabric(wrong); })), Codes{"O1353"}) << wrong;
}

}  // namespace
}  // namespace orrery::formats::orrery
