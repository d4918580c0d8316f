// Numbers of the fields that are read of ONNX's messages, and of the element types whose values are kept. Everything
// else in a file is passed over.
#pragma once

namespace orrery::formats::onnx::schema {

namespace model {
enum Field { kGraph = 7, kOpsets = 8 };
}
namespace opset {
enum Field { kDomain = 1, kVersion = 2 };
}
namespace graph {
enum Field { kNodes = 1, kWeights = 5, kInputs = 11, kOutputs = 12, kValues = 13, kSparseWeights = 15 };
}
namespace node {
enum Field { kInputs = 1, kOutputs = 2, kName = 3, kType = 4, kAttributes = 5, kDomain = 7 };
}
namespace attribute {
enum Field {
  kName = 1,
  kReal = 2,
  kInteger = 3,
  kText = 4,
  kTensor = 5,
  kGraph = 6,
  kReals = 7,
  kIntegers = 8,
  kGraphs = 11,
};
}
namespace tensor {
enum Field { kSizes = 1, kType = 2, kReals = 4, kIntegers32 = 5, kIntegers64 = 7, kName = 8, kRaw = 9 };
enum Type { kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9 };
}  // namespace tensor
namespace sparse {
enum Field { kValues = 1, kSizes = 3 };
}
namespace declared {
enum Field { kName = 1, kType = 2 };
}
namespace type {
enum Field { kTensor = 1 };
}
namespace tensor_type {
enum Field { kShape = 2 };
}
namespace shape {
enum Field { kDimensions = 1 };
}
namespace dimension {
enum Field { kSize = 1, kSymbol = 2 };
}

}  // namespace orrery::formats::onnx::schema
