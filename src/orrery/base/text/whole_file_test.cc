#include "orrery/base/text/whole_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/text/files_test_util.h"
#include "orrery/base/text/text_file.h"

namespace orrery::base {
namespace {

namespace fs = std::filesystem;

TEST(WholeFile, HasItsNameOnceItIsWhole) {
  const Folder folder;
  const std::string path = folder.write("a", "old");
  {
    WholeFile file(path);
    file.write("new");
    EXPECT_EQ(file.sync(), "");
    EXPECT_EQ(read_file(path)->text, "old");
    EXPECT_EQ(read_file(path + ".part")->text, "new");
  }
  EXPECT_EQ(read_file(path)->text, "old");
  EXPECT_FALSE(fs::exists(path + ".part")) << "what was given up is not left";
  folder.write("a.part", "left by a process that is gone");
  EXPECT_EQ(write_whole_file(path, "new"), "");
  EXPECT_EQ(read_file(path)->text, "new");
  EXPECT_FALSE(fs::exists(path + ".part"));
}

TEST(WholeFile, KeepsWhoMayReadIt) {
  const Folder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(write_whole_file(path, "new"), "");
  struct stat now {};
  ASSERT_EQ(stat(path.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 0777, 0600U);
}

TEST(WholeFile, TellsWhyItIsNone) {
  const Folder folder;
  EXPECT_NE(write_whole_file(folder / "none/a", "text"), "");
  EXPECT_NE(write_whole_file(folder.string(), "text"), "") << "a folder";
  EXPECT_NE(write_whole_file("/dev/full", "text"), "");
}

TEST(WholeFile, IsOneOfThoseThatWereWrittenAtOnce) {
  const Folder folder;
  const std::string path = folder / "a";
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'i'; ++c)
    writers.emplace_back([&path, c] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(write_whole_file(path, std::string(10000, c)), "");
    });
  for (std::thread& writer : writers) writer.join();
  const std::string text = read_file(path)->text;
  EXPECT_EQ(text, std::string(10000, text.at(0)));
}

}  // namespace
}  // namespace orrery::base
