#include "orrery/formats/onnx/onnx_operators.h"

#include <gtest/gtest.h>

#include <random>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/onnx/onnx_test_util.h"
#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

Operators operators_of(const ModelWriter& writer, bool unfold = false) {
  return find_operators(writer.model(), {{}, unfold});
}

// "E=3 D=5 L=2 x 4" of the one layer.
std::string layer_of(const Operators& operators) {
  if (operators.layers.size() != 1) return "";
  std::string out;
  for (const workload::Dimension& d : operators.layers[0].einsum.dimensions)
    out += d.name + "=" + std::to_string(d.bound) + " ";
  return out + "x " + std::to_string(operators.layers[0].instances);
}

std::string product(const std::string& type, const Shape& a, const Shape& b, const Attributes& attributes = {},
                    bool unfold = false) {
  return layer_of(
      operators_of(ModelWriter().input("a", a).weight("b", b).node(type, {"a", "b"}, {"y"}, attributes), unfold));
}

TEST(OnnxOperators, ABatchOfOneOperandWidensTheProduct) {
  EXPECT_EQ(product("MatMul", {2, 128, 512}, {512, 64}), "E=512 D=64 L=256 x 1");
  EXPECT_EQ(product("MatMul", {128, 512}, {3, 512, 64}), "E=512 D=192 L=128 x 1");
  EXPECT_EQ(product("MatMul", {2, 8, 128, 64}, {2, 8, 64, 128}), "E=64 D=128 L=128 x 16");
  EXPECT_EQ(product("MatMul", {2, 8, 128, 64}, {2, 1, 64, 128}), "E=64 D=128 L=1024 x 2");
  EXPECT_EQ(product("MatMul", {512}, {512, 64}), "E=512 D=64 L=1 x 1");
  EXPECT_EQ(product("Gemm", {8, 512}, {64, 512}, {{"transB", 1}}), "E=512 D=64 L=8 x 1");
}

TEST(OnnxOperators, AnEinsumIsSortedByItsLetters) {
  EXPECT_EQ(product("Einsum", {2, 5, 4, 8}, {2, 7, 4, 8}, {{"equation", std::string("bqhd,bkhd->bhqk")}}),
            "E=8 D=7 L=5 x 8");
  EXPECT_EQ(product("Einsum", {2, 9, 32}, {32, 4, 8}, {{"equation", std::string("btw,whd->bthd")}}),
            "E=32 D=32 L=18 x 1");
  EXPECT_EQ(product("Einsum", {3, 3}, {3, 4}, {{"equation", std::string("ii,ik->ik")}}), "");  // a diagonal
}

TEST(OnnxOperators, AConvolutionHasTimeloopsNames) {
  const Operators operators = operators_of(ModelWriter()
                                               .input("x", {4, 6, 20, 30})
                                               .weight("w", {8, 3, 3, 5})
                                               .node("Conv", {"x", "w"}, {"y"},
                                                     {{"group", 2},
                                                      {"strides", Integers{2, 3}},
                                                      {"dilations", Integers{1, 2}},
                                                      {"pads", Integers{1, 0, 1, 0}}}));
  EXPECT_EQ(layer_of(operators), "N=4 M=4 C=3 P=10 R=3 Q=8 S=5 x 2");
  const workload::Einsum& einsum = operators.layers[0].einsum;
  std::vector<Count> all;
  for (const workload::Dimension& dimension : einsum.dimensions) all.push_back(dimension.bound);
  EXPECT_EQ(einsum.volume(0, all), 4 * 3 * 3 * 5);
  EXPECT_EQ(einsum.volume(1, all), 4 * 3 * (2 * 9 + 2 + 1) * (3 * 7 + 2 * 4 + 1));  // rows with a line of padding
  EXPECT_EQ(einsum.volume(2, all), 4 * 4 * 10 * 8);
}

TEST(OnnxOperators, AnUnfoldedConvolutionIsAProductOfMatrices) {
  EXPECT_EQ(product("Conv", {2, 64, 56, 56}, {128, 64, 3, 3}, {{"pads", Integers{1, 1, 1, 1}}}, true),
            "E=576 D=128 L=6272 x 1");
  EXPECT_EQ(product("Conv", {1, 3, 8, 8, 8}, {4, 3, 2, 2, 2}, {}, true), "E=24 D=4 L=343 x 1");
}

TEST(OnnxOperators, ProductsOfOneShapeAreOneLayer) {
  ModelWriter writer;
  writer.input("x", {8, 16});
  for (const char* w : {"a", "b", "c"}) writer.weight(w, {16, 16});
  writer.node("MatMul", {"x", "a"}, {"y"}).node("MatMul", {"y", "b"}, {"z"}).node("Gemm", {"z", "c"}, {"u"});
  const Operators operators = operators_of(writer);
  EXPECT_EQ(layer_of(operators), "E=16 D=16 L=8 x 3");
  EXPECT_EQ(operators.layers[0].name, "MatMul_0");
  EXPECT_EQ(operators.operations(), 3 * 16 * 16 * 8);
  EXPECT_TRUE(operators.warnings.all().empty());
}

TEST(OnnxOperators, WhatIsNotMappedIsToldWithItsShare) {
  ModelWriter writer;
  writer.input("x", {8, 16}).weight("w", {16, 10}).node("MatMul", {"x", "w"}, {"y"}).node("Softmax", {"y"}, {"z"});
  writer.node("Strange", {"z"}, {"u"}, {}, "com.example").node("Reshape", {"z", "s"}, {"v"}).integers("s", {-1});
  const Operators operators = operators_of(writer);
  ASSERT_EQ(operators.warnings.all().size(), 1u);
  const base::Diagnostic& warning = operators.warnings.all()[0];
  EXPECT_EQ(warning.code, "O0937");
  EXPECT_EQ(warning.message, "5.88 % of the operations of `m.onnx` are not mapped");  // 80 of 1280 + 80
  EXPECT_EQ(warning.notes,
            (std::vector<std::string>{"Softmax: 1 operator, 5.88 %",
                                      "com.example.Strange: 1 operator, whose operations are not known"}));
}

TEST(OnnxOperators, ProductsInsideOtherOperatorsAreCounted) {
  const auto operations = [](const std::string& type, const std::vector<Shape>& shapes,
                             const Attributes& attributes = {}, const std::string& domain = "") {
    ModelWriter writer;
    std::vector<std::string> names;
    for (const Shape& shape : shapes) writer.input(names.emplace_back("i" + std::to_string(names.size())), shape);
    return operators_of(writer.node(type, names, {"y"}, attributes, domain)).all.back().operations.value_or(-1);
  };
  EXPECT_EQ(operations("LSTM", {{10, 2, 32}, {1, 64, 32}, {1, 64, 16}}), 10 * 2 * 64 * (32 + 16));
  EXPECT_EQ(operations("ConvTranspose", {{1, 4, 5, 5}, {4, 6, 3, 3}}), 4 * 25 * 6 * 9);
  EXPECT_EQ(operations("Conv", {{1, 3, 8, 8, 8}, {4, 3, 2, 2, 2}}), 4 * 343 * 3 * 8);
  EXPECT_EQ(
      operations("MultiHeadAttention", {{2, 9, 64}, {2, 11, 64}, {2, 11, 64}}, {{"num_heads", 4}}, "com.microsoft"),
      2 * (2 * 9 * 11 * 64));
  EXPECT_EQ(operations("Attention", {{2, 9, 64}, {64, 192}}, {{"num_heads", 4}}, "com.microsoft"),
            2 * 9 * 64 * 192 + 2 * (2 * 9 * 9 * 64));
  EXPECT_EQ(operations("Attention", {{2, 9, 64}, {64, 192}, {192}, {2}, {2, 2, 4, 100, 16}}, {{"num_heads", 4}},
                       "com.microsoft"),
            2 * 9 * 64 * 192 + 2 * (2 * 9 * 109 * 64));
  EXPECT_EQ(operations("Attention", {{2, 4, 9, 16}, {2, 4, 11, 16}, {2, 4, 11, 24}}), 2 * 4 * 9 * 11 * (16 + 24));
}

TEST(OnnxOperators, ALostShapeIsToldOnceByWhereItWasLost) {
  ModelWriter writer;
  writer.input("x", {5}).weight("w", {4, 4}).node("NonZero", {"x"}, {"n"}).node("Relu", {"n"}, {"r"});
  writer.node("MatMul", {"r", "w"}, {"y"}).node("MatMul", {"y", "w"}, {"z"});
  const auto errors = base::refused([&] { operators_of(writer); });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O0936");
  EXPECT_EQ(errors[0].message, "what `NonZero_0` (NonZero) of `m.onnx` makes has no known shape");
  EXPECT_EQ(errors[0].notes[1], "2 products depend on it, the first is `MatMul_2` (MatMul)");
}

TEST(OnnxOperators, ALostShapeDoesNoHarmWhereNoProductDependsOnIt) {
  ModelWriter writer;
  writer.input("x", {5, 4}).weight("w", {4, 4}).node("NonZero", {"x"}, {"n"}).node("Relu", {"n"}, {"r"});
  EXPECT_EQ(layer_of(operators_of(writer.node("MatMul", {"x", "w"}, {"y"}))), "E=4 D=4 L=5 x 1");
}

TEST(OnnxOperators, AnEmptyProductIsNoLayer) {
  EXPECT_TRUE(operators_of(ModelWriter().input("a", {0, 4}).weight("b", {4, 4}).node("MatMul", {"a", "b"}, {"y"}))
                  .layers.empty());
}

TEST(OnnxOperators, OperationsBeyondCountingAreRefused) {
  const Count big = Count{1} << 40;
  const auto errors = base::refused([&] {
    operators_of(ModelWriter().input("a", {big, big}).weight("b", {big, 4}).node("MatMul", {"a", "b"}, {"y"}));
  });
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O0931");
}

// Random chains: operations counted by going through every output element and what it sums.
TEST(OnnxOperators, OperationsOfRandomModelsAreThoseOfTheirLoops) {
  std::mt19937 random(11);
  const auto draw = [&](int least, int most) {
    return Count{least} + static_cast<Count>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int round = 0; round < 200; ++round) {
    ModelWriter writer;
    const Count groups = draw(1, 3), channels = groups * draw(1, 3);
    Shape x = {draw(1, 3), channels, draw(7, 12), draw(7, 12)};
    const Shape w = {groups * draw(1, 3), channels / groups, draw(1, 3), draw(1, 3)};
    const Integers strides = {draw(1, 3), draw(1, 3)}, dilations = {draw(1, 3), draw(1, 3)};
    const Integers pads = {draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2)};
    writer.input("x", x).weight("w", w).node(
        "Conv", {"x", "w"}, {"y"}, {{"group", groups}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}});
    Count expected = 0;
    const Count reach[2] = {dilations[0] * (w[2] - 1), dilations[1] * (w[3] - 1)};
    Shape positions = {0, 0};
    for (Count row = -pads[0]; row + reach[0] < x[2] + pads[2]; row += strides[0]) ++positions[0];
    for (Count column = -pads[1]; column + reach[1] < x[3] + pads[3]; column += strides[1]) ++positions[1];
    for (Count n = 0; n < x[0]; ++n)
      for (Count m = 0; m < w[0]; ++m)
        for (Count p = 0; p < positions[0] * positions[1]; ++p) expected += w[1] * w[2] * w[3];
    // Then a matrix that a batch shares, in a row of the result.
    const Count width = draw(1, 9);
    writer.weight("v", {positions[1], width}).node("MatMul", {"y", "v"}, {"z"});
    for (Count i = 0; i < x[0] * w[0] * positions[0]; ++i) expected += positions[1] * width;
    for (const bool unfold : {false, true}) {
      const Operators operators = operators_of(writer, unfold);
      EXPECT_EQ(operators.operations(), static_cast<double>(expected));
      Count mapped = 0;
      for (const Layer& layer : operators.layers) mapped += layer.einsum.operations() * layer.instances;
      EXPECT_EQ(mapped, expected);
    }
  }
}

}  // namespace
}  // namespace orrery::formats::onnx
