#include "orrery/formats/numpy/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace orrery::formats::numpy {
namespace {

std::string code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code;
  }
  return "";
}

// A file of any version with this header.
std::string file(std::string header, const std::string& data, char version = 1) {
  const std::size_t width = version == 1 ? 2 : 4;
  header.append(63 - (8 + width + header.size()) % 64, ' ');
  header += '\n';
  std::string out = std::string("\x93NUMPY") + version + '\0';
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + data;
}

std::string header(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

TEST(Array, ReadsEveryVersionOfTheHeaderAlike) {
  const std::string data("\1\2\3\4\5\6", 6);
  for (const char version : {1, 2, 3}) {
    const Array array = array_of(file(header("|u1", "(2, 3)"), data, version), "x.npy");
    EXPECT_EQ(array.shape, (std::vector<base::Count>{2, 3}));
    EXPECT_EQ(whole_bytes_of(array), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(code_of([&] { array_of(file(header("|u1", "(2, 3)"), data, 4), "x.npy"); }), "O1800");
}

TEST(Array, ConvertsEveryTypeOfElementToFloats) {
  const auto floats = [](const std::string& descr, const std::string& data) {
    return floats_of(array_of(file(header(descr, "(2,)"), data), "x.npy"));
  };
  const std::vector<float> wanted = {1, -2};
  EXPECT_EQ(floats("<f2", std::string("\x00\x3c\x00\xc0", 4)), wanted);
  EXPECT_EQ(floats("<f4", std::string("\0\0\x80\x3f\0\0\0\xc0", 8)), wanted);
  EXPECT_EQ(floats("<f8", std::string("\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16)), wanted);
  EXPECT_EQ(floats("|i1", std::string("\x01\xfe", 2)), wanted);
  EXPECT_EQ(floats("|u1", std::string("\x01\xfe", 2)), (std::vector<float>{1, 254}));
  EXPECT_EQ(floats("|b1", std::string("\x01\x00", 2)), (std::vector<float>{1, 0}));
}

TEST(Array, OfColumnMajorOrderIsTurned) {
  // numpy.asfortranarray([[0, 1, 2], [3, 4, 5]]) lies as 0 3 1 4 2 5.
  const Array two = array_of(file(header("|u1", "(2, 3)", "True"), std::string("\0\3\1\4\2\5", 6)), "x.npy");
  EXPECT_EQ(whole_bytes_of(two), (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5}));
  std::string data(24, '\0');
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c)
        data[static_cast<std::size_t>(a + 2 * b + 6 * c)] = static_cast<char>(12 * a + 4 * b + c);
  const Array three = array_of(file(header("|i1", "(2, 3, 4)", "True"), data), "x.npy");
  for (std::uint8_t i = 0; i < 24; ++i) EXPECT_EQ(whole_bytes_of(three)[i], i);
}

TEST(Array, ThatIsWrittenReadsBack) {
  const std::vector<float> values = {1.5F, -0.0F, 3e38F, 1e-45F, 7, 8};
  const Array array = array_of(file_of({1, 3, 2}, values), "x.npy");
  EXPECT_EQ(floats_of(array), values);
  EXPECT_EQ(array.shape, (std::vector<base::Count>{1, 3, 2}));
  EXPECT_EQ(file_of({6}, values).size() % 64, 24U);  // the numbers begin at a multiple of 64
  EXPECT_EQ(array_of(file_of({}, std::vector<float>{2}), "x.npy").elements, 1);
  EXPECT_EQ(array_of(file_of({0, 5}, std::vector<float>{}), "x.npy").elements, 0);
}

TEST(Array, RefusesWhatIsNoneAndWhatIsCutOff) {
  const std::string good = file(header("<f4", "(2,)"), std::string(8, '\0'));
  EXPECT_EQ(code_of([&] { array_of(good, "x.npy"); }), "");
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(code_of([&] { array_of(std::string_view(good).substr(0, length), "x.npy"); }), "") << length;
  EXPECT_EQ(code_of([&] { array_of("PK\3\4", "x.npz"); }), "O1800");
  EXPECT_EQ(code_of([&] { array_of(good + "x", "x.npy"); }), "O1804");
  EXPECT_EQ(code_of([&] { array_of(std::string_view(good).substr(0, good.size() - 1), "x.npy"); }), "O1804");
}

TEST(Header, RefusesWhatPythonWouldNotHaveWritten) {
  const auto code = [](const std::string& text) {
    return code_of([&] { array_of(file(text, std::string(8, '\0')), "x.npy"); });
  };
  EXPECT_EQ(code("{\"shape\": (2,), 'fortran_order': False, 'descr': '<f4'}"), "");
  EXPECT_EQ(code(header("<f4", "(2L,)")), "");
  for (const char* text :
       {"", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "{'descr: 1", "{'descr': '<f4', 'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9999999999)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"})
    EXPECT_EQ(code(text), "O1801") << text;
  EXPECT_EQ(code(header(">f4", "(2,)")), "O1802");
  EXPECT_EQ(code(header("<u2", "(1,)")), "O1802");
  EXPECT_EQ(code(header("|O", "(1,)")), "O1802");
}

TEST(Floats, ThatAreNoNumbersAreNamedByTheirIndices) {
  std::vector<float> values(6, 1.0F);
  values[4] = std::nanf("");
  values[5] = -std::numeric_limits<float>::infinity();
  try {
    floats_of(array_of(file_of({2, 3}, values), "x.npy"));
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.diagnostics.front().code, "O1805");
    EXPECT_NE(error.diagnostics.front().message.find("[1, 1]"), std::string::npos);
    EXPECT_NE(error.diagnostics.front().notes.front().find("2 of 6"), std::string::npos);
  }
  const std::string huge("\0\0\0\0\0\0\xf0\x7f", 8);
  EXPECT_EQ(code_of([&] { floats_of(array_of(file(header("<f8", "(1,)"), huge), "x.npy")); }), "O1805");
}

}  // namespace
}  // namespace orrery::formats::numpy
