// Plans are kept of what was measured on this machine, and found again by its sizes alone.
#include "orrery/verbs/tune/layer_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

class Plans : public ::testing::Test {
 protected:
  Plans() : folder_(fs::temp_directory_path() / ("orrery_plans_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "store");
    if (const char* old = std::getenv("ORRERY_CACHE")) old_ = old;
    ::setenv("ORRERY_CACHE", (folder_ / "cache").c_str(), 1);
  }
  ~Plans() override {
    fs::remove_all(folder_);
    old_.empty() ? ::unsetenv("ORRERY_CACHE") : ::setenv("ORRERY_CACHE", old_.c_str(), 1);
  }

  static MachineKey key(base::Count batch) {
    return machine_key("avx2", 2, "fp32", tuning::Sizes::encoder(batch, 16, 2, 32, 128));
  }
  std::string store(const std::string& machine, const std::string& built_in) const {
    std::ofstream(folder_ / "store/machine.json") << machine;
    std::ofstream(folder_ / "store/built-in.csv") << built_in;
    return (folder_ / "store").string();
  }

  fs::path folder_;
  std::string old_;
  base::Diagnostics warnings_;
};

TEST_F(Plans, OfSlowerLayoutsAreTheBuiltInLayerAndAreFoundBySizes) {
  const std::string folder = store(text_of(key(3)), "layer time = 0.002 s\n");
  const auto kept = keep_plan(folder, 2.5, "{}", warnings_);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->built_in());
  EXPECT_EQ(kept->predicted_ms(), 2.0);
  EXPECT_FALSE(find_plan(key(4), warnings_)) << "other sizes have other plans";
  const auto found = find_plan(key(3), warnings_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->built_in_ms, 2.0);
  EXPECT_EQ(found->layouts_ms, 2.5);
  EXPECT_EQ(found->layouts, "");
  EXPECT_TRUE(warnings_.all().empty());
}

TEST_F(Plans, OfFasterLayoutsNameTheLayoutFile) {
  const std::string folder = store(text_of(key(3)), "layer time = 0.002 s\n");
  ASSERT_TRUE(keep_plan(folder, 1.5, "the layouts", warnings_));
  const auto found = find_plan(key(3), warnings_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->predicted_ms(), 1.5);
  std::ifstream in(found->layouts);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), "the layouts");
  fs::remove(found->layouts);
  EXPECT_FALSE(find_plan(key(3), warnings_)) << "a plan without its layouts is none";
  EXPECT_EQ(warnings_.all().front().code, "O1761");
}

TEST_F(Plans, OfAnotherMachineOrWithoutTheBuiltInLayerAreNotKept) {
  MachineKey other = key(3);
  other.front().second = "another processor";
  EXPECT_FALSE(keep_plan(store(text_of(other), "layer time = 0.002 s\n"), 2.5, "{}", warnings_));
  for (const char* nothing : {"", "layer time = 0 s\n", "layer time = soon\n", "norm time = 1 s\n"})
    EXPECT_FALSE(keep_plan(store(text_of(key(3)), nothing), 2.5, "{}", warnings_)) << nothing;
}

TEST_F(Plans, ThatCannotBeWrittenAreToldAndUsedOnce) {
  const std::string folder = store(text_of(key(3)), "layer time = 0.002 s\n");
  std::ofstream(folder_ / "cache") << "a file where the folder would be";
  const auto kept = keep_plan(folder, 2.5, "{}", warnings_);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->file, "");
  ASSERT_EQ(warnings_.all().size(), 1U);
  EXPECT_EQ(warnings_.all().front().code, "O1760");
}

TEST_F(Plans, ThatAreDamagedAreToldAndNotUsed) {
  const std::string folder = store(text_of(key(3)), "layer time = 0.002 s\n");
  const auto kept = keep_plan(folder, 2.5, "{}", warnings_);
  for (const char* damaged : {"", "{", "[]", "{\"built_in_ms\": 2}", "{\"built_in_ms\": -2, \"layouts_ms\": 3}"}) {
    std::ofstream(kept->file) << damaged;
    base::Diagnostics warnings;
    EXPECT_FALSE(find_plan(key(3), warnings)) << damaged;
    ASSERT_EQ(warnings.all().size(), 1U) << damaged;
    EXPECT_EQ(warnings.all().front().code, "O1761");
  }
}

}  // namespace
}  // namespace orrery::verbs
