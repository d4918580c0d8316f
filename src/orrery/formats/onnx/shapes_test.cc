#include "orrery/formats/onnx/shapes.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/onnx/onnx_test_util.h"

namespace orrery::formats::onnx {
namespace {

// The shape of `y`, as text; "?" where it is not known.
std::string y_of(const ModelWriter& writer, std::int64_t opset = 17, const base::Overrides& defined = {}) {
  const Shapes shapes = infer_shapes(writer.model(opset), defined);
  const auto known = shapes.of.find("y");
  return known == shapes.of.end() || !known->second.shape ? "?" : text(*known->second.shape);
}

std::vector<base::Diagnostic> refusals(const ModelWriter& writer, const base::Overrides& defined = {}) {
  return base::refused([&] { infer_shapes(writer.model(), defined); });
}

std::string code(const ModelWriter& writer, const base::Overrides& defined = {}) {
  const auto errors = refusals(writer, defined);
  return errors.empty() ? "" : errors[0].code;
}

// One operator on inputs of these shapes.
std::string made(const std::string& type, const std::vector<Shape>& inputs, const Attributes& attributes = {},
                 const std::vector<Integers>& settings = {}, std::int64_t opset = 17, const std::string& domain = "") {
  ModelWriter writer;
  std::vector<std::string> names;
  for (const Shape& shape : inputs) writer.input(names.emplace_back("i" + std::to_string(names.size())), shape);
  for (const Integers& values : settings)
    writer.integers(names.emplace_back("i" + std::to_string(names.size())), values);
  return y_of(writer.node(type, names, {"y"}, attributes, domain), opset);
}

TEST(OnnxShapes, ElementwiseOperatorsBroadcast) {
  EXPECT_EQ(made("Add", {{8, 1, 6, 1}, {7, 1, 5}}), "8x7x6x5");
  EXPECT_EQ(made("Pow", {{3, 4}, {}}), "3x4");
  EXPECT_EQ(made("Where", {{4, 1}, {1, 5}, {}}), "4x5");
  EXPECT_EQ(made("Sum", {{2}, {3, 1}, {4, 1, 1}}), "4x3x2");
  EXPECT_EQ(made("Gelu", {{2, 3}}), "2x3");
  EXPECT_EQ(made("BiasGelu", {{2, 3}, {3}}, {}, {}, 17, "com.microsoft"), "2x3");
}

TEST(OnnxShapes, ProductsOfMatricesBroadcastTheirBatches) {
  EXPECT_EQ(made("MatMul", {{2, 3}, {3, 5}}), "2x5");
  EXPECT_EQ(made("MatMul", {{7, 1, 2, 3}, {4, 3, 5}}), "7x4x2x5");
  EXPECT_EQ(made("MatMul", {{3}, {6, 3, 5}}), "6x5");
  EXPECT_EQ(made("MatMul", {{2, 3}, {3}}), "2");
  EXPECT_EQ(made("MatMul", {{3}, {3}}), "scalar");
  EXPECT_EQ(made("FusedMatMul", {{3, 2}, {5, 3}}, {{"transA", 1}, {"transB", 1}}, {}, 17, "com.microsoft"), "2x5");
  EXPECT_EQ(made("Gemm", {{3, 2}, {5, 3}}, {{"transA", 1}, {"transB", 1}}), "2x5");
  EXPECT_EQ(made("MatMulNBits", {{2, 9, 64}}, {{"K", 64}, {"N", 96}}, {}, 17, "com.microsoft"), "2x9x96");
}

TEST(OnnxShapes, ConvolutionsCountPositionsOfTheirWindows) {
  const Shape image = {1, 3, 224, 224}, kernel = {64, 3, 7, 7};
  EXPECT_EQ(made("Conv", {image, kernel}, {{"strides", Integers{2, 2}}, {"pads", Integers{3, 3, 3, 3}}}),
            "1x64x112x112");
  EXPECT_EQ(made("Conv", {image, kernel}), "1x64x218x218");
  EXPECT_EQ(made("Conv", {image, kernel}, {{"strides", Integers{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}),
            "1x64x112x112");
  EXPECT_EQ(made("Conv", {image, kernel}, {{"dilations", Integers{2, 3}}}), "1x64x212x206");
  EXPECT_EQ(made("Conv", {{2, 8, 100}, {8, 1, 5}}, {{"group", 8}, {"strides", Integers{3}}}), "2x8x32");
  EXPECT_EQ(made("ConvTranspose", {{1, 16, 10, 10}, {16, 8, 4, 4}},
                 {{"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}),
            "1x8x20x20");
  EXPECT_EQ(made("MaxPool", {image}, {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}}), "1x3x111x111");
  EXPECT_EQ(made("MaxPool", {image}, {{"kernel_shape", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"ceil_mode", 1}}),
            "1x3x112x112");
  EXPECT_EQ(made("GlobalAveragePool", {image}), "1x3x1x1");
}

TEST(OnnxShapes, EinsumsFollowTheirEquation) {
  EXPECT_EQ(made("Einsum", {{2, 5, 4, 8}, {2, 7, 4, 8}}, {{"equation", std::string("bqhd,bkhd->bhqk")}}), "2x4x5x7");
  EXPECT_EQ(made("Einsum", {{6, 2, 3}, {3, 4}}, {{"equation", std::string("...ij,jk->...ik")}}), "6x2x4");
  EXPECT_EQ(made("Einsum", {{2, 3}, {3, 4}}, {{"equation", std::string("ij, jk")}}), "2x4");
}

TEST(OnnxShapes, OperatorsThatRuntimesMakeOfSeveralAreKnown) {
  const auto fused = [](const std::string& type, const std::vector<Shape>& inputs) {
    return made(type, inputs, {}, {}, 17, "com.microsoft");
  };
  EXPECT_EQ(fused("EmbedLayerNormalization", {{2, 9}, {2, 9}, {30000, 64}}), "2x9x64");
  EXPECT_EQ(fused("SkipLayerNormalization", {{2, 9, 64}, {2, 9, 64}, {64}}), "2x9x64");
  EXPECT_EQ(fused("DynamicQuantizeMatMul", {{9, 64}, {64, 5}, {}}), "9x5");
  EXPECT_EQ(fused("QLinearAdd", {{2, 8, 4, 4}, {}, {}, {8, 1, 1}}), "2x8x4x4");
  EXPECT_EQ(fused("QLinearGlobalAveragePool", {{2, 8, 4, 4}}), "2x8x1x1");
}

TEST(OnnxShapes, ReshapesTakeSizesFromInputsOrAttributes) {
  EXPECT_EQ(made("Reshape", {{2, 3, 4}}, {}, {{0, -1}}), "2x12");
  EXPECT_EQ(made("Reshape", {{2, 3, 4}}, {{"shape", Integers{4, -1, 2}}}, {}, 1), "4x3x2");
  EXPECT_EQ(made("Flatten", {{2, 3, 4}}, {{"axis", 2}}), "6x4");
  EXPECT_EQ(made("Squeeze", {{1, 3, 1}}, {}, {{0}}), "3x1");
  EXPECT_EQ(made("Squeeze", {{1, 3, 1}}, {{"axes", Integers{-1}}}, {}, 11), "1x3");
  EXPECT_EQ(made("Squeeze", {{1, 3, 1}}), "3");
  EXPECT_EQ(made("Unsqueeze", {{3}}, {}, {{0, -1}}), "1x3x1");
  EXPECT_EQ(made("Transpose", {{2, 3, 4}}), "4x3x2");
  EXPECT_EQ(made("Transpose", {{2, 3, 4}}, {{"perm", Integers{0, 2, 1}}}), "2x4x3");
  EXPECT_EQ(made("Expand", {{3, 1}}, {}, {{2, 1, 6}}), "2x3x6");
  EXPECT_EQ(made("Tile", {{2, 3}}, {}, {{2, 5}}), "4x15");
  EXPECT_EQ(made("Pad", {{2, 3}}, {}, {{0, 1, 0, 2}}), "2x6");
  EXPECT_EQ(made("DepthToSpace", {{1, 8, 3, 3}}, {{"blocksize", 2}}), "1x2x6x6");
}

TEST(OnnxShapes, PartsOfTensorsHaveTheSizesThatAreCut) {
  EXPECT_EQ(made("Concat", {{2, 3}, {2, 5}}, {{"axis", -1}}), "2x8");
  EXPECT_EQ(made("Split", {{2, 9}}, {{"axis", 1}}, {{9}}), "2x9");
  EXPECT_EQ(made("Slice", {{10, 20}}, {}, {{2}, {-1}, {1}, {3}}), "10x6");
  EXPECT_EQ(made("Slice", {{10}}, {}, {{-1}, {INT64_MIN}, {0}, {-2}}), "5");
  EXPECT_EQ(made("Slice", {{10}}, {{"starts", Integers{3}}, {"ends", Integers{INT64_MAX}}}, {}, 9), "7");
  EXPECT_EQ(made("Gather", {{30000, 64}, {2, 9}}), "2x9x64");
  EXPECT_EQ(made("ReduceMean", {{2, 3, 4}}, {{"axes", Integers{-1}}}), "2x3x1");
  EXPECT_EQ(made("ReduceSum", {{2, 3, 4}}, {{"keepdims", 0}}, {{0, 2}}), "3");
  EXPECT_EQ(made("TopK", {{2, 30}}, {}, {{5}}), "2x5");
  EXPECT_EQ(made("Range", {}, {}, {}), "?");
}

TEST(OnnxShapes, TracedArithmeticOnShapesIsFollowed) {
  ModelWriter writer;
  writer.input("x", {-1, 12, 64}).integers("zero", {0}).integers("four", {4}).integers("rest", {-1});
  writer.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"b"}).node("Mul", {"b", "four"}, {"n"});
  writer.node("Concat", {"n", "rest"}, {"t"}, {{"axis", 0}}).node("Reshape", {"x", "t"}, {"y"});
  EXPECT_EQ(y_of(writer, 17, {{"batch", "3"}}), "12x192");
}

// As F.pad is exported: of the padding from the last dimension on, zeros for the others, in pairs from the back.
TEST(OnnxShapes, PadsThatTheGraphComputesAreFollowed) {
  ModelWriter writer;
  writer.input("x", {1, 4, 100}).integers("given", {3, 5}).integers("none", {0, 0, 0, 0}).integers("pairs", {-1, 2});
  writer.integers("last", {-1}).integers("end", {INT64_MIN + 1}).integers("first", {0});
  writer.node("Concat", {"given", "none"}, {"all"}, {{"axis", 0}}).node("Reshape", {"all", "pairs"}, {"table"});
  writer.node("Slice", {"table", "last", "end", "first", "last"}, {"back"});
  writer.node("Transpose", {"back"}, {"columns"}, {{"perm", Integers{1, 0}}});
  writer.node("Reshape", {"columns", "last"}, {"flat"}).node("Cast", {"flat"}, {"pads"}, {{"to", 7}});
  EXPECT_EQ(y_of(writer.node("Pad", {"x", "pads"}, {"y"})), "1x4x108");
}

// A table of integers through each operator that moves elements, to the sizes of a Reshape.
TEST(OnnxShapes, ValuesFollowTheirElements) {
  const auto sizes = [](const std::string& type, const Attributes& attributes, const std::vector<Integers>& settings,
                        const Integers& shape = {2, 3}) {
    ModelWriter writer;
    writer.integers("list", {1, 2, 3, 4, 5, 6}).integers("shape", shape).integers("flat", {-1});
    std::vector<std::string> names = {"table"};
    for (const Integers& values : settings)
      writer.integers(names.emplace_back("s" + std::to_string(names.size())), values);
    writer.node("Reshape", {"list", "shape"}, {"table"}).node(type, names, {"moved"}, attributes);
    writer.node("Reshape", {"moved", "flat"}, {"row"});
    return y_of(writer.node("ConstantOfShape", {"row"}, {"y"}));
  };
  EXPECT_EQ(sizes("Transpose", {}, {}), "1x4x2x5x3x6");
  EXPECT_EQ(sizes("Transpose", {{"perm", Integers{2, 0, 1}}}, {}, {1, 2, 3}), "1x4x2x5x3x6");
  EXPECT_EQ(sizes("Slice", {}, {{2, 1}, {INT64_MIN, 2}, {1, 0}, {-2, 1}}), "6x4");
  EXPECT_EQ(sizes("Gather", {{"axis", 1}}, {{-1, 0}}), "3x1x6x4");
  EXPECT_EQ(sizes("Gather", {}, {{1}}), "4x5x6");
  EXPECT_EQ(sizes("Tile", {}, {{1, 2}}), "1x2x3x1x2x3x4x5x6x4x5x6");
  EXPECT_EQ(sizes("Expand", {}, {{2, 3, 2}}, {3, 2}), "1x2x3x4x5x6x1x2x3x4x5x6");
  EXPECT_EQ(sizes("Add", {}, {{10, 20, 30}}), "11x22x33x14x25x36");
  EXPECT_EQ(sizes("Flatten", {}, {}), "1x2x3x4x5x6");
}

TEST(OnnxShapes, WhatTheFileSaysIsTakenWhereNothingElseIsKnown) {
  EXPECT_EQ(y_of(ModelWriter().input("x", {5}).value("y", {2, 7}).node("NonZero", {"x"}, {"y"})), "2x7");
  EXPECT_EQ(y_of(ModelWriter().input("x", {5}).node("NonZero", {"x"}, {"y"})), "?");
  EXPECT_EQ(code(ModelWriter().input("x", {5}).value("y", {7}).node("Relu", {"x"}, {"y"})), "O0935");
}

TEST(OnnxShapes, OpenDimensionsAreToldAllAtOnce) {
  ModelWriter writer;
  writer.input("x", {-1, -2, 8}).input("z", {-1, -2});
  const auto errors = refusals(writer);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O0932");
  EXPECT_EQ(errors[0].message, "`m.onnx` leaves 3 sizes open: `batch`, `x[1]`, `z[1]`");
  EXPECT_EQ(code(writer, {{"batch", "2"}, {"x[1]", "3"}, {"z[1]", "0"}}), "");
}

TEST(OnnxShapes, DimensionsOfOneSymbolHaveTheSizesOfTheirPlaces) {
  const ModelWriter writer = ModelWriter().input("x", {-1, 3, -1, -1}).node("Relu", {"x"}, {"y"});
  const auto errors = refusals(writer, {{"x[2]", "48"}});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message, "`m.onnx` leaves 2 sizes open: `x[0]`, `x[3]`");
  EXPECT_EQ(y_of(writer, 17, {{"x[0]", "1"}, {"x[2]", "48"}, {"x[3]", "192"}}), "1x3x48x192");
  EXPECT_EQ(y_of(writer, 17, {{"batch", "8"}, {"x[0]", "1"}}), "1x3x8x8");
  EXPECT_EQ(code(writer, {{"x[1]", "3"}}), "O0933");
}

TEST(OnnxShapes, SizesForNoDimensionAreRefused) {
  const ModelWriter writer = ModelWriter().input("x", {-1});
  EXPECT_EQ(code(writer, {{"bacth", "2"}}), "O0933");
  EXPECT_EQ(code(writer, {{"batch", "two"}}), "O0933");
  EXPECT_EQ(code(writer, {{"batch", "-1"}}), "O0933");
  EXPECT_EQ(code(writer, {{"batch", "2"}, {"batch", "3"}}), "O0933");
}

TEST(OnnxShapes, MisfitsNameTheOperatorAndItsByte) {
  const auto errors = refusals(ModelWriter().input("a", {2, 3}).input("b", {4, 5}).node("MatMul", {"a", "b"}, {"y"}));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O0935");
  EXPECT_NE(errors[0].message.find("`MatMul_0` (MatMul)"), std::string::npos);
  EXPECT_NE(errors[0].notes[0].find("byte "), std::string::npos);
  for (const auto& [type, shapes] :
       std::vector<std::pair<std::string, std::vector<Shape>>>{{"Add", {{2}, {3}}},
                                                               {"Conv", {{1, 3, 8, 8}, {4, 2, 3, 3}}},
                                                               {"Conv", {{1, 3, 2, 2}, {4, 3, 3, 3}}},
                                                               {"Gemm", {{2}, {2, 2}}},
                                                               {"Concat", {{2, 2}, {3, 3}}}}) {
    ModelWriter writer;
    writer.input("a", shapes[0]).input("b", shapes[1]).node(type, {"a", "b"}, {"y"});
    EXPECT_EQ(code(writer), "O0935") << type;
  }
}

TEST(OnnxShapes, AConvolutionsKernelShapeIsThatOfItsWeight) {
  const auto said = [](const std::vector<std::int64_t>& kernel) {
    ModelWriter writer;
    writer.input("a", {1, 3, 8, 8})
        .input("b", {4, 3, 3, 3})
        .node("Conv", {"a", "b"}, {"y"}, {{"kernel_shape", kernel}});
    return code(writer);
  };
  EXPECT_EQ(said({3, 3}), "");
  EXPECT_EQ(said({5, 5}), "O0935");
  EXPECT_EQ(said({3}), "O0935");
}

TEST(OnnxShapes, TensorsComeFromSomewhereOnce) {
  EXPECT_EQ(code(ModelWriter().node("Relu", {"x"}, {"y"})), "O0934");
  EXPECT_EQ(code(ModelWriter().input("x", {1}).node("Relu", {"x"}, {"x"})), "O0934");
}

TEST(OnnxShapes, ShapesBeyondCountingAreRefused) {
  ModelWriter writer;
  writer.input("x", {kMostSize, kMostSize}).integers("s", {-1}).node("Reshape", {"x", "s"}, {"y"});
  EXPECT_EQ(code(writer), "O0931");
}

}  // namespace
}  // namespace orrery::formats::onnx
