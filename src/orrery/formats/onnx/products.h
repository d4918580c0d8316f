// One operator's product as an einsum, and how often it runs.
#pragma once

#include <optional>

#include "orrery/describe/workload/einsum.h"
#include "orrery/formats/onnx/rule.h"
#include "orrery/formats/onnx/shapes.h"

namespace orrery::formats::onnx {

struct Product {
  workload::Einsum einsum;
  Count instances = 1;  // 0: a dimension is empty, and nothing is computed
};

// Of a node whose Work is kProduct, and whose operands and result have whole shapes. Nothing: no einsum of ours
// expresses it, such as a convolution in three dimensions. Throws base::OverflowError, Misfit.
std::optional<Product> product_of(const Node& node, const Shape& first, const Shape& second, const Shape& result,
                                  bool unfold);

// Multiply-accumulates of products that no einsum expresses (Work::kProducts, and those above); nothing: not known.
std::optional<Count> products_inside(const Node& node, const Shapes& shapes);

}  // namespace orrery::formats::onnx
