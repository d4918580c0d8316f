#include "orrery/formats/orrery/stacks.h"

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/systems.h"

namespace orrery::formats::orrery {
namespace {

const std::string kDirectory = ORRERY_SOURCE_DIR "/catalog";

TEST(Stacks, EveryNameHasAFileWithATitleAndOrigins) {
  for (const auto& [name, value] : cluster::stacks()) {
    const StackFile file = load_stack(kDirectory, name);
    EXPECT_EQ(file.stack.name, value);
    EXPECT_FALSE(file.entry.title.empty()) << name;
    EXPECT_FALSE(file.entry.sources.empty()) << name;
    EXPECT_GT(file.entry.figures.size(), 5u) << name;
  }
}

TEST(Stacks, MegatronOf2021IsWhatAPlanHasByDefault) {
  cluster::Plan plan;
  const base::Fields defaults = cluster::fields(plan.stack);
  cluster::Stack stack = load_stack(kDirectory, "megatron-2021").stack;
  const base::Fields read = cluster::fields(stack);
  ASSERT_EQ(read.size(), defaults.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].get(), defaults[i].get()) << read[i].path;
}

TEST(Stacks, SystemsNameTheirs) {
  EXPECT_EQ(load_system(kDirectory, "a100-selene").system.stack.name, cluster::StackName::kMegatron2021);
  EXPECT_EQ(load_system(kDirectory, "dgx-h100").system.stack.name, cluster::StackName::kMegatronCore);
  EXPECT_EQ(load_system(kDirectory, "tpu-v5e").system.stack.name, cluster::StackName::kXla);
  EXPECT_EQ(load_system(kDirectory, "dgx-h200").system.stack.overlap.dp, 1);
}

TEST(Stacks, AnUnknownNameComesWithTheNearest) {
  const auto errors = base::refused([] { load_stack(kDirectory, "megatron-2012"); });
  EXPECT_EQ(errors.at(0).code, "O1910");
  EXPECT_NE(errors.at(0).hints.at(0).find("megatron-2021"), std::string::npos);
}

class BrokenStack : public ::testing::Test {
 protected:
  std::vector<std::string> codes(const std::string& body) {
    std::string runs = "  runs:\n";
    for (const cluster::Feature& feature : cluster::features())
      if (feature.name != left_out_) runs += std::string("    ") + feature.name + ": {value: false, source: a}\n";
    folder_.write("stacks/xla.yaml", "stack:\n  title: t\n  sources: {a: text}\n" + body + runs);
    return base::codes_of([&] { load_stack(folder_.string(), "xla"); });
  }
  base::Folder folder_;
  std::string left_out_;
};

TEST_F(BrokenStack, ItSaysOfEveryFeatureWhetherItHasIt) {
  left_out_ = "zero_bubble";
  EXPECT_EQ(codes("  fields:\n    traffic: {value: 2, source: a}\n"), std::vector<std::string>{"O1911"});
}

TEST(Stacks, SayWhatTheyCannotRun) {
  const auto lacks = [](const char* stack, const char* feature) {
    return (load_stack(kDirectory, stack).stack.lacks & cluster::feature(feature)) != 0;
  };
  for (const char* feature : {"zero_bubble", "gpipe", "context_parallelism", "zero_3", "uneven_stages"})
    EXPECT_TRUE(lacks("megatron-2021", feature)) << feature;
  EXPECT_TRUE(lacks("megatron-core", "zero_bubble"));
  EXPECT_FALSE(lacks("megatron-core", "context_parallelism"));
  EXPECT_FALSE(lacks("pytorch-fsdp", "zero_bubble"));
  EXPECT_TRUE(lacks("xla", "1f1b"));
}

TEST_F(BrokenStack, AGoodOneIsTaken) {
  EXPECT_EQ(codes("  fields:\n    traffic: {value: 2, source: a}\n    overlap.dp: {value: 1, assumption: b}\n"),
            std::vector<std::string>{});
}

TEST_F(BrokenStack, IsRefusedWithItsCode) {
  const std::vector<std::string> refused = {"O1911"};
  EXPECT_EQ(codes("  fields:\n    trafic: {value: 2, source: a}\n"), refused) << "no such field";
  EXPECT_EQ(codes("  fields:\n    traffic: {value: much, source: a}\n"), refused) << "no number";
  EXPECT_EQ(codes("  fields:\n    traffic: {value: 2}\n"), refused) << "no origin";
  EXPECT_EQ(codes("  fields:\n    traffic: {value: 2, source: b}\n"), refused) << "no such source";
  EXPECT_EQ(codes("  fields:\n    traffic: 2\n"), refused) << "no map";
  EXPECT_EQ(codes("  remark: x\n  fields: {traffic: {value: 2, source: a}}\n"), refused) << "no such key";
  EXPECT_EQ(codes(""), refused) << "no fields";
}

}  // namespace
}  // namespace orrery::formats::orrery
