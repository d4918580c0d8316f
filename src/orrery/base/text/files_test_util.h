// For tests of every floor: folders of their own, and the reference material beside the checkout.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <source_dir.h>

namespace orrery::base {

inline const std::filesystem::path kCheckout = ORRERY_SOURCE_DIR;
inline const std::filesystem::path kShared = kCheckout / ".." / "shared";

// Skips the test when there is no reference material.
#define ORRERY_NEEDS_SHARED() \
  if (!std::filesystem::exists(base::kShared / "goldens")) GTEST_SKIP() << "needs " << base::kShared

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// An empty folder, removed at the end of the test.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            ("orrery_" + std::string(test->test_suite_name()) + "_" + test->name() + "_" + std::to_string(getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // Returns the path of the file.
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  const Folder& add(const std::string& name, std::string_view text) const {
    write(name, text);
    return *this;
  }
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace orrery::base
