// A model's operators as work: products as einsums, everything else counted.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/formats/onnx/onnx_file.h"

namespace orrery::formats::onnx {

struct Operator {
  std::string name, type;                             // "com.microsoft.Attention" where it is not ONNX's own
  std::vector<std::optional<Shape>> inputs, outputs;  // nothing: not known, or left out
  // Multiply-accumulates of products, elements of all else; nothing: not known.
  std::optional<Count> operations;
  std::optional<std::size_t> layer;  // of Operators::layers; nothing: it is not mapped
  std::int64_t byte = 0;             // of the file
};

// A tensor from the operator that makes it to one that reads it.
struct Flow {
  std::size_t from = 0, to = 0;  // of Operators::all
  std::optional<Shape> shape;    // nothing: not known
};

// Products of one shape. `instances` of them run one after the other, over all its operators.
struct Layer {
  std::string name;  // of its first operator
  workload::Einsum einsum;
  Count instances = 1;
  std::vector<std::size_t> operators;
};

struct Operators {
  std::vector<Operator> all;  // in the file's order
  std::vector<Flow> flows;    // by their readers
  std::vector<Layer> layers;  // in the order of their first operators
  base::Diagnostics warnings;

  double operations() const;  // of all whose operations are known
};

struct OperatorOptions {
  base::Overrides defined;  // sizes of open dimensions
  // Convolutions as products of matrices, their windows laid out side by side (im2col).
  bool unfold = false;
};

// The largest product's words are not checked here. Throws InputError: as infer_shapes, O0931 for products beyond
// counting, O0936 for products whose shapes are not known. Warns (O0937) about operators that are not mapped, with
// their share of the operations.
Operators find_operators(const Model& model, const OperatorOptions& options);

}  // namespace orrery::formats::onnx
