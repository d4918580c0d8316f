#include "orrery/inputs/masks/sparse_arrays.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "orrery/base/text/mapped_file.h"
#include "orrery/engines/masks/prediction/scores.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using base::Count;
namespace numpy = formats::numpy;
using numpy::Array;
using Shape = std::vector<Count>;

constexpr Count kMostNumbers = Count{1} << 32;  // of an array of floats: 16 GiB

Array read(const std::string& path, std::vector<base::Input>& inputs) {
  const auto file = std::make_shared<const base::MappedFile>(path);
  inputs.push_back({path, base::content_hash(file->bytes())});
  return numpy::array_of(file->bytes(), path, file);
}

[[noreturn]] void refuse_shape(const Array& array, const std::string& why, const std::string& hint) {
  base::Diagnostics found;
  found
      .error("O1803",
             fmt::format("`{}` has the shape {}, {}", array.whole.file->name, numpy::shape_text(array.shape), why),
             array.whole)
      .hint(hint);
  found.throw_if_errors();
  throw base::InputError({});
}

[[noreturn]] void refuse_kind(const Array& array, const std::string& wanted, const std::string& hint) {
  base::fail("O1806",
             fmt::format("`{}` has elements of type {}, where {} are meant", array.whole.file->name,
                         numpy::name_of(array.element), wanted),
             array.whole, hint);
}

// [batch, heads, tokens, size], none of them 0.
Shape four_dimensions(const Array& array, std::optional<Count> heads) {
  Shape shape = array.shape;
  if (shape.size() == 3) {
    if (!heads)
      refuse_shape(array, "three dimensions", "say how many heads the first holds for each sequence: `--heads`");
    if (shape[0] % *heads != 0)
      refuse_shape(array, fmt::format("and {} are no whole number of sequences of {} heads", shape[0], *heads),
                   "the first dimension is batch x heads");
    shape = {shape[0] / *heads, *heads, shape[1], shape[2]};
  } else if (heads && shape.size() == 4 && shape[1] != *heads) {
    refuse_shape(array, fmt::format("whose second size is not the {} of `--heads`", *heads), "leave out `--heads`");
  }
  if (shape.size() != 4)
    refuse_shape(array, "not [batch, heads, tokens, size]", "three dimensions may be given with `--heads`");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    refuse_shape(array, "which is empty", "each size must be at least 1");
  if (array.elements > kMostNumbers)
    refuse_shape(array, fmt::format("more than {} numbers", kMostNumbers), "measure fewer sequences at a time");
  return shape;
}

// A tensor of floats whose shape is `wanted` where that is not negative.
// `held`: bytes that the arrays read so far take, and what is made of them.
std::vector<float> floats(const std::string& path, std::optional<Count> heads, const Shape& wanted,
                          const std::string& as, const base::Budget& budget, double& held, Shape& shape,
                          std::vector<base::Input>& inputs) {
  const Array array = read(path, inputs);
  if (!numpy::is_float(array.element))
    refuse_kind(array, "floats", "these are codes or a mask, not queries, keys or values");
  shape = four_dimensions(array, heads);
  for (std::size_t d = 0; d < 4; ++d)
    if (wanted[d] >= 0 && shape[d] != wanted[d]) {
      constexpr const char* kNames[] = {"sequences", "heads", "tokens", "elements in a row"};
      refuse_shape(array, fmt::format("{} {} where {} {}", shape[d], kNames[d], as, wanted[d]),
                   "arrays of one attention belong together");
    }
  // The numbers, the pages of the file and the codes.
  held += static_cast<double>(array.elements) * (sizeof(float) + 1) + static_cast<double>(array.bytes.size());
  demand_room(budget, held, fmt::format("reading `{}` and those before it", path));
  return numpy::floats_of(array);
}

// A byte for each of batch x tokens.
std::vector<std::uint8_t> tokens(const std::string& path, Count batch, Count count, std::vector<base::Input>& inputs) {
  if (path.empty()) return {};
  const Array array = read(path, inputs);
  Shape shape = array.shape;
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  if (shape.size() != 2 || shape[0] != batch || shape[1] != count)
    refuse_shape(array, fmt::format("where [{}, {}] is meant", batch, count),
                 "a number for each token of each sequence");
  std::vector<std::uint8_t> out = numpy::whole_bytes_of(array);
  if (out.empty() && array.elements > 0) {  // an attention_mask of int64, or 1.0 and 0.0, perhaps
    for (const float x : numpy::floats_of(array)) out.push_back(x == 0 ? 0 : x == 1 ? 1 : 2);
  }
  if (std::any_of(out.begin(), out.end(), [](std::uint8_t x) { return x > 1; }))
    refuse_kind(array, "zeros and ones", "1 is a token that is there; an additive mask is (1 - valid) * -10000");
  return out;
}

void set_valid(const SparseArrayFiles& files, const masks::MaskShape& shape, std::vector<std::uint8_t>& rows,
               std::vector<std::uint8_t>& columns, std::vector<base::Input>& inputs) {
  columns = tokens(files.valid, shape.batch, shape.columns, inputs);
  rows = tokens(files.valid_queries, shape.batch, shape.rows, inputs);
  if (files.valid_queries.empty() && shape.rows == shape.columns) rows = columns;
}

}  // namespace

SparseArrays read_sparse_arrays(const SparseArrayFiles& files, const base::Budget& budget) {
  SparseArrays out;
  double held = 0;
  Shape query, key, value;
  out.query = floats(files.query, files.heads, {-1, -1, -1, -1}, "", budget, held, query, out.inputs);
  out.key = floats(files.key, files.heads, {query[0], query[1], -1, query[3]}, "the queries have", budget, held, key,
                   out.inputs);
  masks::AttentionInput& input = out.input;
  input.shape = {query[0], query[1], query[2], key[2]};
  input.depth = query[3];
  if (input.depth > masks::kMostDepth)
    base::fail("O1803", fmt::format("rows of {} elements are longer than {}", input.depth, masks::kMostDepth), {},
               "a head has 64 or 128; these may be rows of all heads together");
  if (!files.value.empty()) {
    out.value = floats(files.value, files.heads, {query[0], query[1], key[2], -1}, "the keys have", budget, held, value,
                       out.inputs);
    out.value_size = value[3];
  }
  input.scale = files.scaled ? 1.0F : 1.0F / std::sqrt(static_cast<float>(input.depth));
  input.causal = files.causal;
  input.query = out.query.data();
  input.key = out.key.data();
  const Count rows_words = input.shape.matrices() * input.shape.rows;
  if (rows_words > masks::kMostMaskBits / (input.shape.words() * masks::kWordBits))
    base::fail("O1803",
               fmt::format("a mask of {} x {} x {} x {} bits is larger than {} bits", query[0], query[1], query[2],
                           key[2], masks::kMostMaskBits),
               {}, "measure fewer sequences at a time");
  demand_room(budget, held + 2 * static_cast<double>(rows_words * input.shape.words()) * sizeof(masks::Word),
              "these arrays and a mask of them");
  set_valid(files, input.shape, input.valid_rows, input.valid_columns, out.inputs);
  return out;
}

masks::Mask read_mask(const std::string& path, std::optional<Count> columns, base::Input* input,
                      const base::Budget& budget) {
  std::vector<base::Input> inputs;
  const Array array = read(path, inputs);
  if (input != nullptr) *input = inputs.front();
  if (numpy::size_of(array.element) != 1)
    refuse_kind(array, "a byte for each bit (bool, uint8) or packed bits", "save (scores > threshold).astype(bool)");
  Shape shape = array.shape;
  if (shape.size() < 2 || shape.size() > 4)
    refuse_shape(array, "not [batch, heads, rows, columns]", "the first one or two dimensions may be left out");
  while (shape.size() < 4) shape.insert(shape.begin(), 1);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    refuse_shape(array, "which is empty", "each size must be at least 1");
  const Count width = shape[3];
  if (columns && (array.element != numpy::Element::kUint8 || base::ceil_divide(*columns, 8) != width))
    refuse_shape(array, fmt::format("no packed bits of {} columns", *columns),
                 fmt::format("a row of {} columns has {} of type uint8", *columns, base::ceil_divide(*columns, 8)));
  const bool packed = columns || (array.element == numpy::Element::kUint8 && base::ceil_divide(shape[2], 8) == width &&
                                  width < shape[2]);
  const masks::MaskShape of{shape[0], shape[1], shape[2], packed ? columns.value_or(shape[2]) : width};
  // The pages of the file, the bits, and those of them inside of the valid tokens.
  demand_room(budget,
              static_cast<double>(array.bytes.size()) + 2 * static_cast<double>(of.matrices() * of.rows) *
                                                            static_cast<double>(of.words()) * sizeof(masks::Word),
              fmt::format("the mask `{}`", path));
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(array.bytes.data()), array.bytes.size());
  const bool truths = std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t x) { return x <= 1; });
  if (!columns && packed && truths)
    refuse_shape(array, "and every byte is 0 or 1: bits, or a byte for each",
                 fmt::format("for packed bits give `--columns {}`; for bytes save as bool", shape[2]));
  if (!packed && !truths)
    refuse_kind(array, "zeros and ones", "for packed bits of other sizes than rows x rows give `--columns`");
  return packed ? masks::mask_of_packed(of, bytes.data()) : masks::mask_of_bytes(of, bytes.data());
}

void apply_valid(masks::Mask& mask, const SparseArrayFiles& files, std::vector<base::Input>& inputs) {
  set_valid(files, mask.shape(), mask.valid_rows, mask.valid_columns, inputs);
  mask.causal = files.causal;
}

}  // namespace orrery::verbs
