#include "orrery/base/text/text_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/file_kind.h"
#include "orrery/base/text/files_test_util.h"

namespace orrery::base {
namespace {

using namespace std::string_view_literals;
namespace fs = std::filesystem;

class TextFile : public ::testing::Test {
 protected:
  std::string written(std::string_view bytes, const char* name = "x.yaml") const { return folder_.write(name, bytes); }

  Folder folder_;
};

// The one message that reading `path` ends with; empty when it is read.
Diagnostic refusal(const std::string& path) {
  const auto errors = refused([&] { read_file(path); });
  return errors.empty() ? Diagnostic{} : errors[0];
}

TEST_F(TextFile, IsReadAsItIs) {
  for (std::string_view text : {""sv, "a"sv, "a: 1\r\n\tb\n"sv, "\xEF\xBB\xBFhöhe\n"sv})
    EXPECT_EQ(read_file(written(text))->text, text);
  const std::string long_text(300'000, 'x');
  EXPECT_EQ(read_file(written(long_text))->text, long_text);
}

TEST_F(TextFile, EndlessDevicesEndSoon) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal("/dev/zero").code, "O0104");
  EXPECT_EQ(refusal("/dev/urandom").code, "O0104");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(read_file("/dev/null")->text, "");
}

TEST_F(TextFile, SixteenMebibytesAreReadAndNoMore) {
  EXPECT_EQ(read_file(written(std::string(kMostFileBytes, ' ')))->text.size(), kMostFileBytes);
  EXPECT_EQ(refusal(written(std::string(kMostFileBytes + 1, ' '))).code, "O0103");
}

TEST_F(TextFile, PipesAreReadToTheirEnd) {
  const std::string path = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream out(path);
    for (int i = 0; i < 1000; ++i) out << "line\n" << std::flush;
  });
  EXPECT_EQ(read_file(path)->text.size(), 5000u);
  writer.join();
}

TEST_F(TextFile, APipeWithoutEndIsGivenUp) {
  const std::string path = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const int out = open(path.c_str(), O_WRONLY);
    const std::string lines(1 << 16, '\n');
    signal(SIGPIPE, SIG_IGN);
    while (write(out, lines.data(), lines.size()) > 0) {
    }
    close(out);
  });
  const Diagnostic told = refusal(path);
  writer.join();
  EXPECT_EQ(told.code, "O0103");
  ASSERT_FALSE(told.notes.empty());
  EXPECT_NE(told.notes[0].find("a pipe"), std::string::npos);
}

TEST_F(TextFile, WhatCannotBeReadIsNamed) {
  written("a: 1\n", "chip.yaml");
  for (const std::string& path : {std::string("/"), std::string("there/is/no/such.yaml"), std::string(),
                                  (folder_.path() / "chpi.yaml").string(), std::string("a\0b", 3)})
    EXPECT_EQ(refusal(path).code, "O0100") << path;
  ASSERT_EQ(refusal((folder_.path() / "chpi.yaml").string()).hints.size(), 1u);
}

TEST_F(TextFile, ANulIsNamedWithItsPlace) {
  const Diagnostic told = refusal(written("a: 1\nb: \0\n"sv));
  EXPECT_EQ(told.code, "O0104");
  ASSERT_FALSE(told.notes.empty());
  EXPECT_EQ(told.notes[0], "byte 9 of the file, in line 2");
}

TEST_F(TextFile, FirstBytesAreAtMostThoseAskedFor) {
  EXPECT_EQ(first_bytes(written("abc"), 2), "ab");
  EXPECT_EQ(first_bytes(written("abc"), 9), "abc");
  EXPECT_EQ(first_bytes((folder_.path() / "none").string(), 9), std::nullopt);
  EXPECT_EQ(first_bytes("/dev/zero", 1000)->size(), 1000u);
}

TEST_F(TextFile, OtherFormatsAreNamedByTheirFirstBytes) {
  const std::string tar = std::string("arch.yaml") + std::string(248, '\0') + "ustar" + std::string(200, '\0');
  const std::pair<std::string, const char*> cases[] = {
      {std::string("\x08\x07\x12\x07pytorch\x1a\x05"
                   "2.1.0:\xba\x01\n\0"sv),
       "an ONNX model"},
      {std::string("\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}"sv), "a safetensors file"},
      {std::string("GGUF\x03\0\0\0"sv), "a GGUF model"},
      {std::string("PK\x03\x04\0\0\x08\x08\0\0archive/data.pkl"sv), "a PyTorch checkpoint"},
      {std::string("PK\x03\x04\x14\0\x06\0[Content_Types].xml"sv), "an Office document"},
      {std::string("PK\x03\x04\x0a\0\0\0chip.yaml"sv), "a zip archive"},
      {std::string("\x80\x04\x95\0\0"sv), "a Python pickle"},
      {std::string("\x93NUMPY\x01\0"sv), "a NumPy array"},
      {std::string("\x89HDF\r\n\x1a\n\0"sv), "an HDF5 file"},
      {std::string("\x1f\x8b\x08\0"sv), "a gzip archive"},
      {std::string("BZh91AY&SY\xff"sv), "a bzip2 archive"},
      {tar, "a tar archive"},
      {std::string("\x7f"
                   "ELF\x02\x01\0"sv),
       "an ELF program or library"},
      {std::string("\x89PNG\r\n\x1a\n\0"sv), "a PNG picture"},
      {std::string("%PDF-1.7\n"sv), "a PDF document"},
      {std::string("PAR1\x15\0"sv), "a Parquet table"},
      {std::string("\xff\xfe"
                   "a\0:\0"sv),
       "text in UTF-16"},
      {std::string("\xfe\xff\0a\0:"sv), "text in UTF-16"},
      {std::string("a\0r\0c\0h\0:\0"sv), "text in UTF-16"},
      {std::string("\xff\xfe\0\0a\0\0\0"sv), "text in UTF-32"},
  };
  for (const auto& [bytes, name] : cases) {
    EXPECT_EQ(file_kind(bytes).name, name);
    const Diagnostic told = refusal(written(bytes));
    EXPECT_EQ(told.code, "O0104") << name;
    EXPECT_NE(told.message.find(name), std::string::npos) << told.message;
    EXPECT_FALSE(told.hints.empty()) << name;
  }
}

TEST_F(TextFile, TextsThatBeginLikeOtherFormatsAreTexts) {
  for (const char* text : {"GGUF: 1\n", "PAR1,PAR2\n1,2\n", "GIF89a: true\n", "PK: 3\n", "BZh91AY&SY\n"})
    EXPECT_EQ(read_file(written(text))->text, text);
}

}  // namespace
}  // namespace orrery::base
