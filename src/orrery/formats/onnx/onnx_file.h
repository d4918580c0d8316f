// What of an ONNX model says which operators run, and on which shapes. Weights are not kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::formats::onnx {

using base::Count;

inline constexpr Count kUnknown = -1;
using Shape = std::vector<Count>;  // kUnknown: a dimension of unknown size

// Sizes of a declared tensor: a number, a symbol, or neither.
struct Dimension {
  Count size = kUnknown;
  std::string symbol;
};

struct Declared {
  std::string name;
  std::optional<std::vector<Dimension>> dimensions;  // nothing: not even their number is declared
};

// Small tensors keep their values: they are shapes, axes and scales.
inline constexpr Count kMostValues = 1024;
struct Tensor {
  std::string name;
  Shape shape;
  std::optional<std::vector<std::int64_t>> integers;
  std::optional<std::vector<float>> reals;
};

struct Attribute {
  std::string name;
  std::int64_t integer = 0;
  float real = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::optional<Tensor> tensor;
  bool graph = false;  // a graph of its own, as in loops
};

struct Node {
  std::string name;  // unique: made up where the file has none
  std::string type;
  std::string domain;                        // empty: ONNX's own
  std::vector<std::string> inputs, outputs;  // names of tensors; empty: left out
  std::vector<Attribute> attributes;
  std::int64_t byte = 0;  // of the file, where it begins

  const Attribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  std::string text(std::string_view attribute, std::string otherwise = "") const;
  // Nothing: it is not given.
  std::optional<std::vector<std::int64_t>> integers(std::string_view attribute) const;
};

struct Model {
  std::shared_ptr<const base::SourceFile> file;  // its name alone
  std::string hash;                              // of all its bytes
  Count opset = 0;                               // version of ONNX's own operators
  std::vector<Declared> inputs, outputs;         // of the graph; inputs without the weights
  std::vector<Declared> values;                  // what the file says of tensors between
  std::vector<Tensor> tensors;                   // weights
  std::vector<Node> nodes;

  base::Location whole() const { return {file, 0, 0, 1}; }
};

}  // namespace orrery::formats::onnx
