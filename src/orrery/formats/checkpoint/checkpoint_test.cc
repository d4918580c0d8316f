#include "orrery/formats/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/checkpoint/checkpoint_test_util.h"

namespace orrery::formats::checkpoint {
namespace {

using base::Codes;

std::string one_tensor(const std::string& name, const std::string& four_bytes) {
  return safetensors(
      R"({"__metadata__":{"format":"pt"},")" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      four_bytes);
}

std::string torch_tensor(const std::string& name, const std::string& four_bytes) {
  return torch_zip(state_dict({{name, "0", 1, 0, {1}, {1}}}), {{"0", four_bytes}});
}

Checkpoint read(const base::Folder& folder, Codes warned = {}) {
  base::Diagnostics warnings;
  Checkpoint checkpoint = read_checkpoint(folder.string(), warnings);
  EXPECT_EQ(codes(warnings.all()), warned);
  return checkpoint;
}

std::vector<base::Diagnostic> said_of(const std::string& path) {
  base::Diagnostics warnings;
  return base::refused([&] { read_checkpoint(path, warnings); });
}

TEST(ReadCheckpoint, AFolderOfAnyOfTheFormatsIsRead) {
  const std::pair<std::string, std::string> files[] = {
      {"model.safetensors", one_tensor("w", "abcd")},
      {"pytorch_model.bin", torch_tensor("w", "abcd")},
      {"pytorch_model.bin", torch_before_1_6(state_dict({{"w", "0", 1, 0, {1}, {1}}}), {{"0", "abcd"}}, 4)}};
  for (const auto& [name, bytes] : files) {
    const base::Folder folder;
    folder.write(name, bytes);
    const Checkpoint checkpoint = read(folder);
    ASSERT_NE(checkpoint.find("w"), nullptr);
    EXPECT_EQ(checkpoint.find("w")->bytes, "abcd");
    EXPECT_EQ(checkpoint.find("v"), nullptr);
    EXPECT_EQ(checkpoint.files.size(), 1U);
    EXPECT_EQ(checkpoint.metadata.size(), name == "model.safetensors" ? 1U : 0U);
  }
}

TEST(ReadCheckpoint, SafetensorsArePreferredAndTheOthersNamed) {
  const base::Folder folder;
  folder.write("model.safetensors", one_tensor("w", "abcd"));
  folder.write("pytorch_model.bin", torch_tensor("w", "efgh"));
  EXPECT_EQ(read(folder, {"O1608"}).find("w")->bytes, "abcd");
}

TEST(ReadCheckpoint, TensorsOutliveTheCheckpointAndItsFile) {
  Tensor kept;
  {
    const base::Folder folder;
    folder.write("model.safetensors", one_tensor("w", "abcd"));
    kept = *read(folder).find("w");
  }
  EXPECT_EQ(kept.bytes, "abcd");
}

TEST(ReadCheckpoint, ShardsAreReadByTheirIndex) {
  for (const bool torch : {false, true}) {
    const base::Folder folder;
    const auto tensor = torch ? torch_tensor : one_tensor;
    folder.write("a.bin", tensor("v", "abcd"));
    folder.write("b.bin", tensor("w", "efgh"));
    folder.write(torch ? "pytorch_model.bin.index.json" : "model.safetensors.index.json",
                 R"({"metadata":{"total_size":8},"weight_map":{"v":"a.bin","w":"b.bin"}})");
    const Checkpoint checkpoint = read(folder);
    EXPECT_EQ(checkpoint.find("v")->bytes, "abcd");
    EXPECT_EQ(checkpoint.find("w")->bytes, "efgh");
    EXPECT_EQ(checkpoint.files.size(), 2U);
  }
}

TEST(ReadCheckpoint, AnIndexThatDisagreesWithItsShardsIsRefused) {
  const auto said = [](const std::string& map) {
    const base::Folder folder;
    folder.write("a.bin", one_tensor("v", "abcd"));
    folder.write("b.bin", one_tensor("w", "efgh"));
    folder.write("c.bin", one_tensor("w", "efgh"));
    folder.write("secret/d.bin", one_tensor("x", "efgh"));
    const auto found = said_of(folder.write("model.safetensors.index.json", R"({"weight_map":)" + map + "}"));
    std::string all;
    for (const base::Diagnostic& one : found) {
      EXPECT_EQ(one.code, "O1607");
      EXPECT_GT(one.primary.where.line, 0);
      all += one.message + "\n";
    }
    return all;
  };
  EXPECT_EQ(said(R"({"v":"a.bin","w":"b.bin"})"), "");
  EXPECT_EQ(said(R"({"v":"a.bin","x":"none.bin"})"), "the shard `none.bin` is missing\n");
  EXPECT_EQ(said(R"({"v":"b.bin","w":"b.bin"})"), "tensor `v` is not in `b.bin`\n");
  EXPECT_EQ(said(R"({"w":"b.bin","v":"c.bin"})"),
            "tensor `w` is in `b.bin` and in `c.bin`\ntensor `v` is not in `c.bin`\n");
  for (const char* const name : {"../a.bin", "secret/d.bin", "/etc/passwd", "..", ".", "", "a.bin\\u0000b"})
    EXPECT_NE(said(R"({"v":")" + std::string(name) + "\"}").find("which is not a file beside the index"),
              std::string::npos)
        << name;
  EXPECT_NE(said(R"({"v":3})").find("which is not a file beside the index"), std::string::npos);
  EXPECT_NE(said("[]").find("has no `weight_map`"), std::string::npos);
  const base::Folder folder;
  EXPECT_EQ(codes(said_of(folder.write("model.safetensors.index.json", "{"))), Codes{"O1607"});
}

TEST(ReadCheckpoint, WhatIsNoCheckpointIsRefused) {
  const base::Folder folder;
  const auto empty = said_of(folder.string());
  ASSERT_EQ(codes(empty), Codes{"O1600"});
  EXPECT_NE(empty[0].hints.at(0).find("model.safetensors, model.safetensors.index.json, pytorch_model.bin"),
            std::string::npos);
  EXPECT_EQ(codes(said_of(folder.string() + "/none")), Codes{"O0100"});
  EXPECT_EQ(codes(said_of(folder.write("empty.safetensors", ""))), Codes{"O1601"});
  EXPECT_EQ(codes(said_of(folder.write("text.bin", "a text of some length"))), Codes{"O1601"});
  EXPECT_EQ(codes(said_of("/dev/zero")), Codes{"O0100"});
}

}  // namespace
}  // namespace orrery::formats::checkpoint
