#include "orrery/formats/checkpoint/torch_file.h"

#include <gtest/gtest.h>

#include <numeric>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/checkpoint/checkpoint_test_util.h"

namespace orrery::formats::checkpoint {
namespace {

using base::Codes;

std::vector<float> counted(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

std::vector<Tensor> read(const std::string& bytes) {
  base::Diagnostics warnings;
  return bytes[0] == 'P' ? torch_archive(in_memory(bytes), warnings) : torch_legacy(in_memory(bytes), warnings);
}

std::vector<base::Diagnostic> said_of_torch_file(const std::string& bytes) {
  return base::refused([&] { read(bytes); });
}

std::string message(const std::string& bytes, const std::string& code) {
  const auto found = said_of_torch_file(bytes);
  EXPECT_EQ(codes(found), Codes{code});
  return found.empty() ? "" : found[0].message;
}

// A storage of 24 floats seen in several ways.
const std::vector<SavedTensor> kViews{
    {"whole", "0", 24, 0, {2, 3, 4}, {12, 4, 1}},   {"tied", "0", 24, 0, {2, 3, 4}, {12, 4, 1}, "FloatStorage", true},
    {"part", "0", 24, 8, {4, 2}, {2, 1}},           {"transposed", "0", 24, 0, {4, 6}, {1, 4}},
    {"transposed_too", "0", 24, 0, {4, 6}, {1, 4}}, {"gaps", "0", 24, 1, {2, 2, 3}, {12, 5, 2}},
    {"repeated", "0", 24, 5, {3, 4}, {0, 2}},       {"one", "0", 24, 7, {}, {}},
    {"none", "0", 24, 24, {0, 5}, {5, 1}},          {"ones", "0", 24, 2, {1, 3, 1}, {77, 1, 9}},
};

void expect_views(const std::string& bytes) {
  const std::vector<Tensor> tensors = read(bytes);
  ASSERT_EQ(tensors.size(), kViews.size());
  for (std::size_t i = 0; i < kViews.size(); ++i) {
    const SavedTensor& view = kViews[i];
    EXPECT_EQ(tensors[i].name, view.name);
    EXPECT_EQ(tensors[i].shape, view.shape);
    std::vector<float> expected{static_cast<float>(view.offset)};
    for (std::size_t d = 0; d < view.shape.size(); ++d) {
      std::vector<float> wider;
      for (const float at : expected)
        for (std::int64_t k = 0; k < view.shape[d]; ++k) wider.push_back(at + static_cast<float>(k * view.strides[d]));
      expected = wider;
    }
    EXPECT_EQ(as_floats(tensors[i]), expected) << view.name;
  }
  const auto data = [&](const char* name) { return find(tensors, name)->bytes.data(); };
  EXPECT_TRUE(data("whole") > bytes.data() && data("whole") < bytes.data() + bytes.size()) << "no copy";
  EXPECT_EQ(data("tied"), data("whole"));
  EXPECT_EQ(data("part"), data("whole") + 8 * sizeof(float));
  EXPECT_EQ(data("ones"), data("whole") + 2 * sizeof(float));
  EXPECT_EQ(data("transposed"), data("transposed_too"));
}

TEST(TorchFile, TensorsOfAnArchiveAreTheirStoragesByOffsetAndStrides) {
  expect_views(torch_zip(state_dict(kViews), {{"0", bytes_of(counted(24))}}));
}

TEST(TorchFile, TensorsOfTheOlderFormatAreTheirStoragesByOffsetAndStrides) {
  expect_views(torch_before_1_6(state_dict(kViews), {{"0", bytes_of(counted(24))}}, sizeof(float)));
}

TEST(TorchFile, StoragesHaveTheTypeThatTheirNameSays) {
  const std::pair<std::string, Element> types[] = {
      {"DoubleStorage", Element::kF64},    {"FloatStorage", Element::kF32}, {"HalfStorage", Element::kF16},
      {"BFloat16Storage", Element::kBf16}, {"LongStorage", Element::kI64},  {"IntStorage", Element::kI32},
      {"ShortStorage", Element::kI16},     {"CharStorage", Element::kI8},   {"ByteStorage", Element::kU8},
      {"BoolStorage", Element::kBool}};
  for (const auto& [name, element] : types) {
    const std::string data(3 * size_of(element), '\1');
    const SavedTensor saved{"t", "0", 3, 0, {3}, {1}, name};
    for (const std::string& bytes : {torch_zip(state_dict({saved}), {{"0", data}}),
                                     torch_before_1_6(state_dict({saved}), {{"0", data}}, size_of(element))}) {
      const std::vector<Tensor> tensors = read(bytes);
      ASSERT_EQ(tensors.size(), 1U);
      EXPECT_EQ(tensors[0].element, element);
      EXPECT_EQ(tensors[0].bytes, data);
    }
  }
  const std::pair<std::string, Element> untyped[] = {{"float8_e4m3fn", Element::kF8E4m3},
                                                     {"float8_e5m2", Element::kF8E5m2},
                                                     {"uint16", Element::kU16},
                                                     {"uint32", Element::kU32},
                                                     {"uint64", Element::kU64}};
  for (const auto& [name, element] : untyped) {
    const auto bytes = static_cast<std::int64_t>(2 * size_of(element));
    const SavedTensor saved{"t", "0", bytes, 1, {1}, {1}, "UntypedStorage", false, name};
    const std::vector<Tensor> tensors = read(torch_zip(
        state_dict({saved}), {{"0", std::string(size_of(element), 'a') + std::string(size_of(element), 'b')}}));
    EXPECT_EQ(tensors.at(0).element, element);
    EXPECT_EQ(tensors[0].bytes, std::string(size_of(element), 'b'));
  }
}

TEST(TorchFile, TheDictMayBeOneOfATrainersFile) {
  PickleWriter pickle;
  pickle.raw("}(")
      .text("epoch")
      .integer(3)
      .text("state_dict")
      .global("collections", "OrderedDict")
      .raw(")R(")
      .text("w");
  write_tensor(pickle, {"w", "0", 2, 0, {2}, {1}});
  // What torch sets on it afterwards: `_metadata`, which says nothing about tensors.
  pickle.raw("u}").text("_metadata").raw("}sbu");
  const std::string bytes = torch_zip(pickle.end(), {{"0", bytes_of<float>({5, 6})}});
  EXPECT_EQ(as_floats(read(bytes).at(0)), (std::vector<float>{5, 6}));

  PickleWriter mixed;
  mixed.raw("}(").text("w");
  write_tensor(mixed, {"w", "0", 2, 0, {2}, {1}});
  mixed.text("step").integer(3).integer(1).text("no text").raw("u");
  base::Diagnostics warnings;
  EXPECT_EQ(torch_archive(in_memory(torch_zip(mixed.end(), {{"0", bytes_of<float>({5, 6})}})), warnings).size(), 1U);
  ASSERT_EQ(codes(warnings.all()), Codes{"O1609"});
  EXPECT_EQ(warnings.all()[0].message, "entries that are not tensors are left out: step, (no text)");
}

TEST(TorchFile, NothingIsCalled) {
  const auto of = [](const std::string& pickle) { return message(torch_zip(pickle, {}), "O1604"); };
  EXPECT_EQ(of(PickleWriter().global("os", "system").raw("(").text("touch x").raw("tR").end()),
            "the pickle calls `os.system` (at byte 27); only tensors are read, and nothing is executed");
  EXPECT_NE(of(PickleWriter().text("os").text("system").raw("\x93(").text("id").raw("tR").end()).find("`os.system`"),
            std::string::npos);
  EXPECT_NE(of(PickleWriter().global("torch._utils", "OrderedDict").raw(")R").end()).find("calls"), std::string::npos);
  for (const char* const operations :
       {"(ios\nsystem\n", "(c__main__\nModel\no", "c__main__\nModel\n)\x81", "\x82\1", "\x8f"})
    EXPECT_NE(of(PickleWriter().raw(operations).end()).find("nothing is executed"), std::string::npos) << operations;
  EXPECT_NE(of(PickleWriter().integer(1).raw(")R").end()).find("calls something that is not a name"),
            std::string::npos);
  EXPECT_NE(of(PickleWriter().raw("Pname\n").end()).find("refers to objects by text"), std::string::npos);
}

TEST(TorchFile, ValuesThatHoldThemselvesAreNoTensors) {
  // d = {}; d["a"] = d;  l = []; l.append(l)
  EXPECT_EQ(message(torch_zip(PickleWriter().raw("}q\1").text("a").raw("h\1s").end(), {}), "O1606"),
            "the checkpoint holds no dict of tensors");
  EXPECT_EQ(message(torch_zip(PickleWriter().raw("]q\1h\1a").end(), {}), "O1606"),
            "the checkpoint holds no dict of tensors");
  // A dict in itself beside a tensor, under the name that is looked into.
  PickleWriter both;
  both.raw("}q\1(").text("state_dict").raw("h\1").text("w");
  write_tensor(both, {"w", "0", 1, 0, {1}, {1}});
  EXPECT_EQ(read(torch_zip(both.raw("u").end(), {{"0", "abcd"}})).size(), 1U);
}

TEST(TorchFile, TensorsThatLeaveTheirStorageAreRefused) {
  const auto of = [](const SavedTensor& saved) {
    return message(torch_zip(state_dict({saved}), {{"0", std::string(16, 'x')}}), "O1606");
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  EXPECT_EQ(of({"w", "0", 4, 1, {4}, {1}}), "tensor `w` cannot be read: it reaches element 5 of a storage of 4");
  EXPECT_EQ(of({"w", "0", 4, 0, {2, 2}, {3, 1}}), "tensor `w` cannot be read: it reaches element 5 of a storage of 4");
  EXPECT_NE(of({"w", "0", 4, -1, {1}, {1}}).find("lead beyond 2^63"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {-1}, {1}}).find("sizes are negative"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {2}, {-1}}).find("strides are negative"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, kHuge, {2, 2}, {kHuge, 1}}).find("lead beyond 2^63"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {kHuge, 4}, {4, 1}}).find("more than the 4 elements"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {1000}, {0}}).find("more than the 4 elements"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {2}, {1, 1}}).find("1 sizes and 2 strides"), std::string::npos);
  EXPECT_NE(of({"w", "0", 3, 0, {3}, {1}}).find("should have 12 bytes, and has 16"), std::string::npos);
  EXPECT_NE(of({"w", "1", 4, 0, {4}, {1}}).find("`1` is not in the file"), std::string::npos);
  EXPECT_NE(of({"w", "0", kHuge, 0, {4}, {1}}).find("its storage has 4611686018427387904 elements"), std::string::npos);
  EXPECT_NE(of({"w", "0", 4, 0, {4}, {1}, "QInt8Storage"}).find("`QInt8Storage` is not known"), std::string::npos);
  EXPECT_NE(of({"w", "0", 16, 0, {4}, {1}, "UntypedStorage", false, "complex64"}).find("type of its elements"),
            std::string::npos);
  EXPECT_NE(
      of({"w", "0", 4, 0, std::vector<std::int64_t>(33, 1), std::vector<std::int64_t>(33, 1)}).find("33 dimensions"),
      std::string::npos);
  const SavedTensor twice{"w", "0", 4, 0, {4}, {1}};
  EXPECT_NE(
      message(torch_zip(state_dict({twice, twice}), {{"0", std::string(16, 'x')}}), "O1606").find("another of this"),
      std::string::npos);
  const auto two =
      said_of_torch_file(torch_zip(state_dict({{"v", "1", 4, 0, {4}, {1}}, {"w", "2", 4, 0, {4}, {1}}}), {}));
  EXPECT_EQ(codes(two), (Codes{"O1606", "O1606"})) << "all at once";
}

TEST(TorchFile, ArchivesOfAnotherKindAreRefused) {
  const std::string pickle = state_dict({{"w", "0", 1, 0, {1}, {1}}});
  const auto of = [](const std::string& bytes) { return message(bytes, "O1605"); };
  const auto says = [&](const std::string& bytes, const char* text) {
    EXPECT_NE(of(bytes).find(text), std::string::npos) << of(bytes);
  };
  says(zip({{"a/data.pkl", pickle}, {"a/data/0", "abcd"}, {"a/data/0", "efgh"}}), "it holds `a/data/0` twice");
  says(zip({{"a/data.pkl", pickle}}, 8), "`a/data.pkl` is compressed");
  says(zip({{"a/data.pkl", pickle}, {"a/byteorder", "big"}}), "its numbers are big-endian");
  says(zip({{"a/data.pkl", pickle}, {"a/constants.pkl", "."}}), "it is TorchScript");
  says(zip({{"word/document.xml", "<a/>"}}), "holds no data.pkl");
  says(zip({}), "directory, which stands at its end, is missing");
  says(zip({{std::string(600, 'n'), "a"}}), "a name in it is longer than 511 bytes");
  says("PK\3\4 and nothing more", "its directory, which stands at its end, is missing");
  // An entry that says that it is larger than the file: sizes stand in the local header and in the directory.
  std::string larger = zip({{"a/data.pkl", pickle}, {"a/data/0", "abcd"}});
  const std::string four = little_endian<std::uint32_t>(4) + little_endian<std::uint32_t>(4);
  const std::string huge = little_endian<std::uint32_t>(1U << 30) + little_endian<std::uint32_t>(1U << 30);
  for (std::size_t at = larger.find(four); at != std::string::npos; at = larger.find(four)) larger.replace(at, 8, huge);
  says(larger, "the entry `a/data/0` of 1073741824 bytes leaves the file");
}

TEST(TorchFile, PicklesThatAreNoneAreRefused) {
  const auto says = [](const std::string& pickle, const char* text) {
    const std::string said = message(torch_zip(pickle, {}), "O1603");
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("", "it does not end");
  says("\x80\x09.", "protocol 9 is not known");
  says(".", "a value is missing");
  says("\xff", "0xff is not an operation");
  says("X\xff\xff\xff\x7fx", "2147483647 more bytes should follow, and 1 do");
  says("h\5.", "nothing was remembered as 5");
  says("t.", "a mark is missing");
  says("K\1K\1a.", "put into something that is not a list");
  says("}K\1(u.", "put into something that is not a dict");
  says("}(K\1u.", "a key has no value");
  says("I12x\n.", "an integer has no value of 64 bits");
  says("I12", "a line does not end");
  says("F1,5\n.", "a number cannot be read");
  says("S'a\\n'\n.", "a text has escapes");
  says("Sa\n.", "a text has no quotation marks");
  says("p1\n.", "a value is missing");
  says("Np-1\n.", "a memo's number is negative");
}

TEST(TorchFile, AFileThatEndsEarlyIsRefusedAtEveryByte) {
  const std::string pickle = state_dict({{"w", "0", 3, 0, {3}, {1}}});
  for (const std::string& bytes : {torch_zip(pickle, {{"0", bytes_of(counted(3))}}),
                                   torch_before_1_6(pickle, {{"0", bytes_of(counted(3))}}, sizeof(float))}) {
    ASSERT_EQ(as_floats(read(bytes).at(0)), counted(3));
    // The last bytes of an archive are the length of a comment: all else is there.
    const std::size_t telling = bytes.size() - (bytes[0] == 'P' ? 3 : 0);
    for (std::size_t size = 1; size < telling; ++size) {
      const std::string cut = bytes.substr(0, size);  // its end is the end of what may be read
      EXPECT_FALSE(said_of_torch_file(cut).empty()) << size;
    }
  }
}

TEST(TorchFile, TheOlderFormatsPartsMustAgree) {
  const std::string pickle = state_dict({{"w", "0", 1, 0, {1}, {1}}});
  const std::string good = torch_before_1_6(pickle, {{"0", "abcd"}}, 4);
  EXPECT_TRUE(said_of_torch_file(good).empty());
  const auto says = [](const std::string& bytes, const char* text) {
    const std::string said = message(bytes, "O1605");
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says(PickleWriter().integer(5).end(), "it is a pickle, but not one of torch.save");
  says(base::replaced(good, std::string("\x8a\x08\xe9\x03"), std::string("\x8a\x08\xe8\x03")),
       "its version is not 1001");
  says(base::replaced(good, "\x88s", "\x89s"), "its numbers are big-endian");
  says(torch_before_1_6(pickle, {{"7", "abcd"}}, 4), "nothing refers to its storage `7`");
  says(torch_before_1_6(pickle, {{"0", "abcdefgh"}}, 4), "storage `0` has 2 elements here and 1 in the pickle");
}

}  // namespace
}  // namespace orrery::formats::checkpoint
