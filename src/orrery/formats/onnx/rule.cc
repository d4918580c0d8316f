#include "orrery/formats/onnx/rule.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orrery/formats/onnx/onnx_reader.h"

namespace orrery::formats::onnx {

void misfit(std::string what) {
  throw Misfit{std::move(what)};
}

std::optional<std::vector<std::int64_t>> Site::setting(std::size_t input, const char* attribute, bool& given) const {
  if (auto old = node.integers(attribute)) {
    given = true;
    return old;
  }
  given = has(input);
  if (const auto* values = integers(input)) return *values;
  return std::nullopt;
}

Count elements(const Shape& shape) {
  Count product = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  if (!whole(shape)) return kUnknown;
  for (const Count size : shape) product = base::checked_multiply(product, size);
  return product;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto ranks = static_cast<std::int64_t>(rank);
  if (axis < -ranks || axis >= ranks) misfit(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + ranks : axis);
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (a.size() < b.size()) return broadcast(b, a);
  Shape out = a;
  const std::size_t shift = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) {
    Count& size = out[shift + i];
    if (b[i] == size || b[i] == 1) continue;
    if (size == 1) {
      size = b[i];
    } else if (size == kUnknown || b[i] == kUnknown) {
      size = std::max(size, b[i]);  // the one that is known is more than 1, so the other is 1 or the same
    } else {
      misfit(fmt::format("{} and {} do not broadcast", text(a), text(b)));
    }
  }
  return out;
}

Shape sizes_of(const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values)
    if (value < 0 || value > kMostSize) misfit(fmt::format("a shape with the size {}", value));
  return values;
}

Count length_of(const Site& site, std::size_t input) {
  const Shape* shape = site.shape(input);
  return shape && shape->size() == 1 && (*shape)[0] <= static_cast<Count>(kMostRank) ? (*shape)[0] : kUnknown;
}

void make_unknown(Site& site, Count rank) {
  if (rank >= 0) site.make(0, Shape(static_cast<std::size_t>(rank), kUnknown));
}

std::size_t place_in(const Shape& shape, const Shape& index) {
  const std::size_t shift = index.size() - shape.size();
  Count place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + (shape[d] == 1 ? 0 : index[shift + d]);
  return static_cast<std::size_t>(place);
}

void fold(Site& site, std::size_t output, const std::vector<std::size_t>& needed,
          const std::function<std::int64_t(const Shape& index)>& value) {
  if (output >= site.out.size() || !site.out[output].shape) return;
  for (const std::size_t input : needed) {
    const Integers* known = site.integers(input);
    const Shape* shape = site.shape(input);
    if (!known || !shape || elements(*shape) != static_cast<Count>(known->size())) return;
  }
  const Shape& shape = *site.out[output].shape;
  const Count count = elements(shape);
  if (count == kUnknown || count > kMostValues) return;
  Integers values;
  Shape index(shape.size(), 0);
  for (Count i = 0; i < count; ++i) {
    values.push_back(value(index));
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  site.out[output].integers = std::move(values);
}

void fold_moved(Site& site, std::size_t output, const std::function<Shape(const Shape& index)>& from) {
  fold(site, output, {0},
       [&](const Shape& index) { return (*site.integers(0))[place_in(*site.shape(0), from(index))]; });
}

std::string text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string out;
  for (const Count size : shape)
    out += (out.empty() ? "" : "x") + (size == kUnknown ? std::string("?") : fmt::format("{}", size));
  return out;
}

}  // namespace orrery::formats::onnx
