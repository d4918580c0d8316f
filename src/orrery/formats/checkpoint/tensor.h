// The tensors of a checkpoint: named arrays of numbers, where the file has them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::formats::checkpoint {

enum class Element { kF64, kF32, kF16, kBf16, kF8E4m3, kF8E5m2, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

inline constexpr std::size_t kMostTensorRank = 32;

std::size_t size_of(Element element);       // bytes
std::string_view name_of(Element element);  // as safetensors writes it: "BF16"
std::optional<Element> element_named(std::string_view name);
std::vector<std::string> element_names();

struct Tensor {
  std::string name;
  Element element = Element::kF32;
  std::vector<std::int64_t> shape;     // row-major; empty: a single number
  std::string_view bytes;              // little-endian, elements(shape) of them, not necessarily aligned
  std::shared_ptr<const void> keeper;  // what holds the bytes
};

// The product of the sizes; nothing beyond 2^63 - 1. Sizes are at least 0.
std::optional<std::int64_t> elements(const std::vector<std::int64_t>& shape);

// "[1024, 4096]"
std::string text_of(const std::vector<std::int64_t>& shape);

// The values as fp32, rounded to the nearest where the type is wider. O(elements).
std::vector<float> as_floats(const Tensor& tensor);

}  // namespace orrery::formats::checkpoint
