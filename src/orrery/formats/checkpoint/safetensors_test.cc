#include "orrery/formats/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/checkpoint/checkpoint_test_util.h"

namespace orrery::formats::checkpoint {
namespace {

using base::Codes;

std::vector<base::Diagnostic> said_of_safetensors(const std::string& bytes) {
  Metadata metadata;
  return base::refused([&] { read_safetensors(in_memory(bytes), metadata); });
}

std::vector<base::Diagnostic> said_of_header(const std::string& header, std::size_t data) {
  return said_of_safetensors(safetensors(header, std::string(data, 'x')));
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape, std::int64_t from,
                  std::int64_t to) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, type, shape, from, to);
}

TEST(Safetensors, WhatIsWrittenIsReadByteForByteForEveryType) {
  const base::Folder folder;
  std::mt19937 random(3);
  std::vector<std::string> data;
  std::vector<Tensor> tensors;
  for (const std::string& name : element_names()) {
    const Element element = *element_named(name);
    EXPECT_EQ(name_of(element), name);
    data.emplace_back(6 * size_of(element), '\0');
    for (char& byte : data.back()) byte = static_cast<char>(random());
    tensors.push_back({"a \"" + name + "\"\n\xc3\xa9", element, {2, 3}, {}, nullptr});
    tensors.push_back({"none of " + name, element, {4, 0}, {}, nullptr});
  }
  for (std::size_t i = 0; i < data.size(); ++i) tensors[2 * i].bytes = data[i];
  data.emplace_back("\1\2\3\4");
  tensors.push_back({"one number", Element::kF32, {}, data.back(), nullptr});
  const Metadata metadata{{"format", "pt"}, {"a key", "a \\ text\n"}};
  const std::string path = (folder.path() / "model.safetensors").string();
  write_safetensors(path, tensors, metadata);
  Metadata again;
  std::vector<Tensor> read = read_safetensors(map_file(path), again);
  EXPECT_EQ(again, metadata);
  ASSERT_EQ(read.size(), tensors.size());
  for (const Tensor& tensor : tensors) {
    const Tensor* const same = find(read, tensor.name);
    ASSERT_NE(same, nullptr) << tensor.name;
    EXPECT_EQ(same->element, tensor.element);
    EXPECT_EQ(same->shape, tensor.shape);
    EXPECT_EQ(same->bytes, tensor.bytes);
  }
  // Over the file that is mapped, and in another order: the same file.
  const std::string before = base::contents(path);
  std::reverse(read.begin(), read.end());
  write_safetensors(path, read, again);
  EXPECT_EQ(base::contents(path), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Safetensors, TensorsLieInTheFile) {
  const std::string bytes =
      safetensors("{" + entry("b", "F16", "[3]", 4, 10) + "," + entry("a", "U8", "[4]", 0, 4) + "}", "abcdefghij");
  Metadata metadata;
  const std::vector<Tensor> tensors = read_safetensors(in_memory(bytes), metadata);
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[1].bytes, "efghij");
  EXPECT_EQ(tensors[1].bytes.data(), bytes.data() + bytes.size() - 6);
  EXPECT_TRUE(metadata.empty());
}

TEST(Safetensors, OffsetsMustCoverTheFileOnce) {
  const auto two = [](std::int64_t from, std::int64_t to) {
    return "{" + entry("a", "U8", "[4]", 0, 4) + "," + entry("b", "U8", fmt::format("[{}]", to - from), from, to) + "}";
  };
  EXPECT_EQ(codes(said_of_header(two(4, 8), 8)), Codes{});
  const auto overlap = said_of_header(two(3, 8), 8);
  ASSERT_EQ(codes(overlap), Codes{"O1602"});
  EXPECT_EQ(overlap[0].message, "tensor `b` overlaps `a`");
  const auto gap = said_of_header(two(5, 8), 8);
  ASSERT_EQ(codes(gap), Codes{"O1602"});
  EXPECT_EQ(gap[0].message, "nothing is said about the 1 bytes before tensor `b`");
  const auto rest = said_of_header(two(4, 8), 9);
  ASSERT_EQ(codes(rest), Codes{"O1602"});
  EXPECT_EQ(rest[0].message, "nothing is said about the last 1 bytes of the file");
  const auto beyond = said_of_header(two(4, 8), 7);
  ASSERT_EQ(codes(beyond), Codes{"O1602"});
  EXPECT_EQ(beyond[0].message, "tensor `b` ends at byte 8, and the file has 7 after its header");
  EXPECT_EQ(beyond[0].primary.where.line, 1);
  EXPECT_GT(beyond[0].primary.where.column, 60);
}

TEST(Safetensors, EveryWrongEntryIsNamed) {
  const struct {
    std::string entry, says;
  } cases[] = {
      {entry("a", "F31", "[1]", 0, 4), "has the type the text \"F31\", which is none of F64, F32"},
      {entry("a", "F32", "[2]", 0, 4), "should have 8 bytes, and its offsets hold 4"},
      {entry("a", "F32", "[4294967296,4294967296]", 0, 4), "has more than 2^63 bytes"},
      {entry("a", "F32", "[4611686018427387904]", 0, 4), "is not a count from 0 to 2^53"},
      {entry("a", "F32", "[-1]", 0, 4), "is not a count from 0 to 2^53"},
      {entry("a", "F32", "[1.0]", 0, 4), "is not a count from 0 to 2^53"},
      {entry("a", "F32", "[1e0]", 0, 4), "is not a count from 0 to 2^53"},
      {entry("a", "F32", "[\"1\"]", 0, 4), "is not a count from 0 to 2^53"},
      {entry("a", "F32", "1", 0, 4), "a list of at most 32 counts"},
      {entry("a", "F32", "[1]", 4, 0), "two offsets, the first no larger"},
      {R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})", "a list of at most 2 counts"},
      {R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4]})", "two offsets"},
      {R"("a":{"dtype":"F32","shape":[1]})", "has no `data_offsets`"},
      {R"("a":{"shape":[1],"data_offsets":[0,4]})", "has no `dtype`"},
      {R"("a":{"dtype":3,"shape":[1],"data_offsets":[0,4]})", "has the type the number 3"},
      {R"("a":{"dtype":"U8","dtype":"F32","shape":[1],"data_offsets":[0,4]})", "`dtype` stands twice"},
      {R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"strides":[1]})",
       "`strides` that the format does not know"},
      {R"("a":[])", "must be an object"},
      {R"("__metadata__":3)", "must be an object of texts"},
      {R"("__metadata__":{"format":3})", "holds texts, and `format` is the number 3"},
      {R"("__metadata__":{"format":"pt","format":"np"})", "`format` stands twice"},
      {entry("a", "F32", "[1]", 0, 4) + "," + entry("a", "F32", "[1]", 0, 4), "`a` stands twice"},
  };
  for (const auto& wrong : cases) {
    const auto found = said_of_header("{" + wrong.entry + "}", 4);
    ASSERT_FALSE(found.empty()) << wrong.entry;
    EXPECT_EQ(found[0].code, "O1602") << wrong.entry;
    EXPECT_NE(found[0].message.find(wrong.says), std::string::npos) << found[0].message;
    EXPECT_GT(found[0].primary.where.column, 1) << wrong.entry;
  }
  EXPECT_EQ(said_of_header("{" + cases[0].entry + "," + R"("b":[],"c":{})" + "}", 4).size(), 5U) << "all at once";
}

TEST(Safetensors, FilesThatAreNoneAreRefused) {
  const auto message = [](const std::string& bytes) {
    const auto found = said_of_safetensors(bytes);
    return found.size() == 1 && found[0].code == "O1601" ? found[0].message : "?";
  };
  EXPECT_EQ(message(""), "this is not a safetensors file: it has 0 bytes, and its first 8 are a length");
  EXPECT_EQ(
      message(little_endian<std::uint64_t>(1 << 30) + "{}"),
      "this is not a safetensors file: its header would have 1073741824 bytes, and at most 100000000 are allowed");
  EXPECT_EQ(message(little_endian<std::uint64_t>(99'000'000) + "{}"),
            "this is not a safetensors file: its header should have 99000000 bytes, and 2 follow");
  EXPECT_EQ(message(little_endian<std::uint64_t>(~std::uint64_t{0}) + "{}").substr(0, 58),
            "this is not a safetensors file: its header would have 1844");
  EXPECT_EQ(message(safetensors("[]", "")), "this is not a safetensors file: its header does not begin with `{`");
  EXPECT_EQ(message(safetensors("", "")), "this is not a safetensors file: its header does not begin with `{`");
  EXPECT_EQ(message(safetensors("{\"a\":", "")).substr(0, 17), "this is not JSON:");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "[";
  EXPECT_EQ(message(safetensors(deep, "")), "brackets nest deeper than 64");
}

TEST(Safetensors, AFileThatEndsEarlyIsRefusedAtEveryByte) {
  const std::string bytes = safetensors(
      "{" + entry("a", "F32", "[2,1]", 0, 8) + "," + entry("b", "BOOL", "[3]", 8, 11) + "}  ", "0123456789a");
  ASSERT_TRUE(said_of_safetensors(bytes).empty());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(said_of_safetensors(bytes.substr(0, size)).empty()) << size;
}

TEST(Safetensors, WhatCannotBeWrittenLeavesNothing) {
  const base::Folder folder;
  const auto found = base::refused([&] { write_safetensors((folder.path() / "none/a.safetensors").string(), {}, {}); });
  ASSERT_EQ(codes(found), Codes{"O1610"});
  EXPECT_NE(found[0].message.find("No such file or directory"), std::string::npos);
  std::filesystem::create_directories(folder.path() / "taken/by");
  EXPECT_EQ(base::codes_of([&] { write_safetensors((folder.path() / "taken").string(), {}, {}); }), Codes{"O1610"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

// --- elements as fp32 ------------------------------------------------------------------------------------------------

std::vector<float> floats(Element element, const std::string& bytes) {
  return as_floats({"t", element, {static_cast<std::int64_t>(bytes.size() / size_of(element))}, bytes, nullptr});
}

TEST(Elements, IntegersAndRealsBecomeTheNearestFloats) {
  EXPECT_EQ(floats(Element::kF64, bytes_of<double>({1.5, -1e-300, 0.1})), (std::vector<float>{1.5F, -0.0F, 0.1F}));
  EXPECT_EQ(floats(Element::kF32, bytes_of<float>({1.5F, -3e38F})), (std::vector<float>{1.5F, -3e38F}));
  EXPECT_EQ(floats(Element::kI64, bytes_of<std::int64_t>({-7, (1LL << 40) + 1})), (std::vector<float>{-7, 0x1p40F}));
  EXPECT_EQ(floats(Element::kI32, bytes_of<std::int32_t>({-7})), (std::vector<float>{-7}));
  EXPECT_EQ(floats(Element::kI16, bytes_of<std::int16_t>({-7})), (std::vector<float>{-7}));
  EXPECT_EQ(floats(Element::kI8, bytes_of<std::int8_t>({-7})), (std::vector<float>{-7}));
  EXPECT_EQ(floats(Element::kU64, bytes_of<std::uint64_t>({1ULL << 63})), (std::vector<float>{0x1p63F}));
  EXPECT_EQ(floats(Element::kU32, bytes_of<std::uint32_t>({1U << 31})), (std::vector<float>{0x1p31F}));
  EXPECT_EQ(floats(Element::kU16, bytes_of<std::uint16_t>({65535})), (std::vector<float>{65535}));
  EXPECT_EQ(floats(Element::kU8, bytes_of<std::uint8_t>({255})), (std::vector<float>{255}));
  EXPECT_EQ(floats(Element::kBool, bytes_of<std::uint8_t>({0, 1})), (std::vector<float>{0, 1}));
}

// By the formula of IEEE 754: (-1)^sign (1 + mantissa / 1024) 2^(exponent - 15).
TEST(Elements, EveryHalfIsItsFormula) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const std::string bytes = little_endian(static_cast<std::uint16_t>(bits));
    const unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent > 0 ? (1 + mantissa / 1024.0) * std::exp2(exponent - 15.0) : mantissa * 0x1p-24;
    const float read = floats(Element::kF16, bytes)[0];
    if (exponent < 31) {
      EXPECT_EQ(std::fabs(read), size) << bits;
    } else {
      EXPECT_TRUE(mantissa == 0 ? std::isinf(read) : std::isnan(read)) << bits;
    }
    EXPECT_EQ(std::signbit(read), bits >> 15 == 1) << bits;
    const float brain = floats(Element::kBf16, bytes)[0];
    EXPECT_EQ(std::bit_cast<std::uint32_t>(brain) >> 16, bits);
  }
}

// The tables of "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0.
TEST(Elements, FloatsOfEightBitsHaveTheirRangeAndOrder) {
  const auto e4m3 = [](unsigned bits) { return floats(Element::kF8E4m3, std::string(1, static_cast<char>(bits)))[0]; };
  const auto e5m2 = [](unsigned bits) { return floats(Element::kF8E5m2, std::string(1, static_cast<char>(bits)))[0]; };
  EXPECT_EQ(e4m3(0x7e), 448);
  EXPECT_EQ(e4m3(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3(0x08), 0x1p-6F);
  EXPECT_TRUE(std::isnan(e4m3(0x7f)) && std::isnan(e4m3(0xff)));
  EXPECT_EQ(e5m2(0x7b), 57344);
  EXPECT_EQ(e5m2(0x01), 0x1p-16F);
  EXPECT_EQ(e5m2(0xfc), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(e5m2(0x7d)));
  for (unsigned bits = 0; bits < 0x7e; ++bits) EXPECT_LT(e4m3(bits), e4m3(bits + 1));
  for (unsigned bits = 0; bits < 0x7c; ++bits) EXPECT_LT(e5m2(bits), e5m2(bits + 1));
}

}  // namespace
}  // namespace orrery::formats::checkpoint
