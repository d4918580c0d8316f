// How an operator makes shapes from shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/onnx/onnx_file.h"

namespace orrery::formats::onnx {

using Integers = std::vector<std::int64_t>;

// What is known of a tensor. Values are kept of small ones alone.
struct Facts {
  std::optional<Shape> shape;
  std::optional<Integers> integers = {};
  std::optional<std::vector<float>> reals = {};
};

// A node's inputs contradict each other or its attributes; `what` goes into O0935.
struct Misfit {
  std::string what;
};
[[noreturn]] void misfit(std::string what);

// A node with what is known of its inputs.
struct Site {
  const Node& node;
  Count opset;
  std::vector<const Facts*> in;  // null: left out
  std::vector<Facts> out;        // as many as the node has outputs

  bool has(std::size_t i) const { return i < in.size() && in[i] != nullptr; }
  // Null: left out or not known.
  const Shape* shape(std::size_t i) const { return has(i) && in[i]->shape ? &*in[i]->shape : nullptr; }
  const Integers* integers(std::size_t i) const { return has(i) && in[i]->integers ? &*in[i]->integers : nullptr; }
  // Integers that newer versions of an operator take as an input, older ones as an attribute. Nothing: neither is
  // known; `given`: whether there is one.
  std::optional<std::vector<std::int64_t>> setting(std::size_t input, const char* attribute, bool& given) const;

  void make(std::size_t output, Shape shape) {
    if (output < out.size()) out[output].shape = std::move(shape);
  }
};

using Rule = void (*)(Site&);  // throws Misfit, base::OverflowError

// What an operator costs, besides products.
enum class Work {
  kNone,       // moves or names data
  kWritten,    // one operation an element of its first output
  kRead,       // one an element of its first input
  kWindow,     // an element of the output and of its window: pooling
  kProduct,    // becomes an einsum
  kProducts,   // products that are counted, not mapped
  kUncounted,  // not known here
};

struct Known {
  Rule rule = nullptr;
  Work work = Work::kUncounted;
};

// What is known of an operator's type; nothing for those of other projects, and newer ones.
const Known* known_operator(const Node& node);

// Shapes.
Count elements(const Shape& shape);                        // kUnknown where a dimension is; throws OverflowError
std::size_t axis_of(std::int64_t axis, std::size_t rank);  // from the end where negative; throws Misfit
Shape broadcast(const Shape& a, const Shape& b);           // throws Misfit
std::string text(const Shape& shape);                      // "2x3x?"
Shape sizes_of(const std::vector<std::int64_t>& values);   // values as sizes; throws Misfit
inline bool whole(const Shape& shape) {
  for (const Count size : shape)
    if (size == kUnknown) return false;
  return true;
}

Count length_of(const Site& site, std::size_t input);  // of an input in one dimension; kUnknown where it is not known
void make_unknown(Site& site, Count rank);  // a result of which the number of dimensions is known, or not even that

// Values. Integers of small tensors are computed along, in the order of their elements: traced graphs work out shapes,
// pads and axes by them.
//
// The place of the element `index` of a result in an operand of `shape` that is broadcast to it.
std::size_t place_in(const Shape& shape, const Shape& index);
// Gives output `output`, whose shape is known, the values that `value(index)` makes of the places of its elements.
// Nothing where the values of one of the inputs `needed`, or the shape, are not known, or there are too many.
void fold(Site& site, std::size_t output, const std::vector<std::size_t>& needed,
          const std::function<std::int64_t(const Shape& index)>& value);
// The same, of elements of input 0: of the one at `from(index)`.
void fold_moved(Site& site, std::size_t output, const std::function<Shape(const Shape& index)>& from);

// Windows of convolutions and pooling: what the attributes say, defaults filled in; of each spatial dimension.
struct Windows {
  std::vector<std::int64_t> kernel, stride, dilation, before, after;
  bool same = false, same_lower = false, valid = false, ceil = false;
};
Windows windows(const Node& node, const std::vector<std::int64_t>& kernel);
// Positions of the window along an input; kUnknown where that is.
Count positions(const Windows& windows, std::size_t dimension, Count input);

// Rules, by file.
void same_as_first(Site& site);
void quantization(Site& site);    // its scale and zero point are results, too
void quantized_pair(Site& site);  // scale and zero point after each operand
void embedding(Site& site);
void broadcast_all(Site& site);
void where(Site& site);
void matrix_product(Site& site);
void general_product(Site& site);
void convolution(Site& site);
void transposed_convolution(Site& site);
void einsum(Site& site);
void pool(Site& site);
void global_pool(Site& site);
void recurrent(Site& site);
void attention(Site& site);
void normalisation(Site& site);
void reduction(Site& site);
void arg_reduction(Site& site);
void top_k(Site& site);
void constant(Site& site);
void constant_of_shape(Site& site);
void shape_of(Site& site);
void size_of(Site& site);
void identity(Site& site);
void reshape(Site& site);
void flatten(Site& site);
void squeeze(Site& site);
void unsqueeze(Site& site);
void transpose(Site& site);
void concat(Site& site);
void split(Site& site);
void slice(Site& site);
void gather(Site& site);
void gather_elements(Site& site);
void gather_nd(Site& site);
void expand(Site& site);
void tile(Site& site);
void pad(Site& site);
void range(Site& site);
void depth_to_space(Site& site);
void space_to_depth(Site& site);
void resize(Site& site);
void one_hot(Site& site);

// Which operands of a product its type takes: QLinearConv has scales between them.
struct Operands {
  std::size_t first = 0, second = 1;
};
Operands operands(const Node& node);

// An Einsum's equation in letters: of the two operands and of the result. An ellipsis is written out in digits.
struct Equation {
  std::string first, second, result;
};
Equation equation(const Node& node, std::size_t first_rank, std::size_t second_rank);  // throws Misfit

}  // namespace orrery::formats::onnx
