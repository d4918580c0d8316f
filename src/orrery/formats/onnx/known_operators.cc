// The operators whose shapes and costs are known.
#include <map>
#include <string>

#include "orrery/formats/onnx/rule.h"

namespace orrery::formats::onnx {
namespace {

using Table = std::map<std::string, Known, std::less<>>;

// ONNX's own, by its operator pages.
Table own() {
  Table table = {
      {"MatMul", {matrix_product, Work::kProduct}},
      {"MatMulInteger", {matrix_product, Work::kProduct}},
      {"QLinearMatMul", {matrix_product, Work::kProduct}},
      {"Gemm", {general_product, Work::kProduct}},
      {"Conv", {convolution, Work::kProduct}},
      {"ConvInteger", {convolution, Work::kProduct}},
      {"QLinearConv", {convolution, Work::kProduct}},
      {"Einsum", {einsum, Work::kProduct}},
      {"ConvTranspose", {transposed_convolution, Work::kProducts}},
      {"LSTM", {recurrent, Work::kProducts}},
      {"GRU", {recurrent, Work::kProducts}},
      {"RNN", {recurrent, Work::kProducts}},
      {"Attention", {attention, Work::kProducts}},
      {"DynamicQuantizeLinear", {quantization, Work::kRead}},
      {"Where", {where, Work::kWritten}},
      {"MaxPool", {pool, Work::kWindow}},
      {"AveragePool", {pool, Work::kWindow}},
      {"LpPool", {pool, Work::kWindow}},
      {"GlobalAveragePool", {global_pool, Work::kRead}},
      {"GlobalMaxPool", {global_pool, Work::kRead}},
      {"GlobalLpPool", {global_pool, Work::kRead}},
      {"ArgMax", {arg_reduction, Work::kRead}},
      {"ArgMin", {arg_reduction, Work::kRead}},
      {"TopK", {top_k, Work::kRead}},
      {"Resize", {resize, Work::kWritten}},
      {"Upsample", {resize, Work::kWritten}},
      {"Constant", {constant, Work::kNone}},
      {"ConstantOfShape", {constant_of_shape, Work::kNone}},
      {"Shape", {shape_of, Work::kNone}},
      {"Size", {size_of, Work::kNone}},
      {"Identity", {identity, Work::kNone}},
      {"Dropout", {identity, Work::kNone}},
      {"Cast", {identity, Work::kNone}},
      {"CastLike", {identity, Work::kNone}},
      {"Reshape", {reshape, Work::kNone}},
      {"Flatten", {flatten, Work::kNone}},
      {"Squeeze", {squeeze, Work::kNone}},
      {"Unsqueeze", {unsqueeze, Work::kNone}},
      {"Transpose", {transpose, Work::kNone}},
      {"Concat", {concat, Work::kNone}},
      {"Split", {split, Work::kNone}},
      {"Slice", {slice, Work::kNone}},
      {"Gather", {gather, Work::kNone}},
      {"GatherElements", {gather_elements, Work::kNone}},
      {"GatherND", {gather_nd, Work::kNone}},
      {"Scatter", {same_as_first, Work::kNone}},
      {"ScatterElements", {same_as_first, Work::kNone}},
      {"ScatterND", {same_as_first, Work::kNone}},
      {"Expand", {expand, Work::kNone}},
      {"Tile", {tile, Work::kNone}},
      {"Pad", {pad, Work::kNone}},
      {"Range", {range, Work::kNone}},
      {"DepthToSpace", {depth_to_space, Work::kNone}},
      {"SpaceToDepth", {space_to_depth, Work::kNone}},
      {"OneHot", {one_hot, Work::kNone}},
      {"Trilu", {same_as_first, Work::kNone}},
      {"EyeLike", {same_as_first, Work::kNone}},
      {"ReverseSequence", {same_as_first, Work::kNone}},
  };
  for (const char* type : {"Abs",
                           "Acos",
                           "Acosh",
                           "Asin",
                           "Asinh",
                           "Atan",
                           "Atanh",
                           "BitwiseNot",
                           "Ceil",
                           "Celu",
                           "Clip",
                           "Cos",
                           "Cosh",
                           "CumSum",
                           "DequantizeLinear",
                           "Elu",
                           "Erf",
                           "Exp",
                           "Floor",
                           "Gelu",
                           "HardSigmoid",
                           "HardSwish",
                           "IsInf",
                           "IsNaN",
                           "LeakyRelu",
                           "PRelu",
                           "Log",
                           "Mish",
                           "Neg",
                           "Not",
                           "QuantizeLinear",
                           "Reciprocal",
                           "Relu",
                           "Round",
                           "RotaryEmbedding",
                           "Selu",
                           "Shrink",
                           "Sigmoid",
                           "Sign",
                           "Sin",
                           "Sinh",
                           "Softplus",
                           "Softsign",
                           "Sqrt",
                           "Swish",
                           "Tan",
                           "Tanh",
                           "ThresholdedRelu"})
    table[type] = {same_as_first, Work::kWritten};
  for (const char* type : {"Add",        "And",         "BitShift", "BitwiseAnd", "BitwiseOr",
                           "BitwiseXor", "Div",         "Equal",    "Greater",    "GreaterOrEqual",
                           "Less",       "LessOrEqual", "Max",      "Mean",       "Min",
                           "Mod",        "Mul",         "Or",       "Pow",        "Sub",
                           "Sum",        "Xor"})
    table[type] = {broadcast_all, Work::kWritten};
  for (const char* type : {"BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN",
                           "LayerNormalization", "LpNormalization", "MeanVarianceNormalization", "RMSNormalization",
                           "SimplifiedLayerNormalization", "Softmax", "LogSoftmax", "Hardmax"})
    table[type] = {normalisation, Work::kRead};
  for (const char* type : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    table[type] = {reduction, Work::kRead};
  return table;
}

// Those that ONNX Runtime makes of several when it optimises a graph.
Table microsoft() {
  Table table = {
      {"FusedMatMul", {matrix_product, Work::kProduct}},
      {"TransposeMatMul", {matrix_product, Work::kProduct}},
      {"MatMulNBits", {matrix_product, Work::kProduct}},
      {"MatMulIntegerToFloat", {matrix_product, Work::kProduct}},
      {"DynamicQuantizeMatMul", {matrix_product, Work::kProduct}},
      {"QLinearAdd", {quantized_pair, Work::kWritten}},
      {"QLinearMul", {quantized_pair, Work::kWritten}},
      {"QLinearSigmoid", {same_as_first, Work::kWritten}},
      {"QLinearLeakyRelu", {same_as_first, Work::kWritten}},
      {"QLinearGlobalAveragePool", {global_pool, Work::kRead}},
      {"EmbedLayerNormalization", {embedding, Work::kWritten}},
      {"FusedGemm", {general_product, Work::kProduct}},
      {"FusedConv", {convolution, Work::kProduct}},
      {"Attention", {attention, Work::kProducts}},
      {"MultiHeadAttention", {attention, Work::kProducts}},
      {"GroupQueryAttention", {attention, Work::kProducts}},
  };
  for (const char* type :
       {"BiasGelu", "FastGelu", "Gelu", "QuickGelu", "RotaryEmbedding", "QuantizeLinear", "DequantizeLinear"})
    table[type] = {same_as_first, Work::kWritten};
  for (const char* type :
       {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "SimplifiedLayerNormalization"})
    table[type] = {normalisation, Work::kRead};
  return table;
}

}  // namespace

const Known* known_operator(const Node& node) {
  static const Table kOwn = own(), kMicrosoft = microsoft();
  const Table* table = node.domain.empty() ? &kOwn : node.domain == "com.microsoft" ? &kMicrosoft : nullptr;
  if (!table) return nullptr;
  const auto found = table->find(node.type);
  return found == table->end() ? nullptr : &found->second;
}

}  // namespace orrery::formats::onnx
