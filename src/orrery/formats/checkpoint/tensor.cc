#include "orrery/formats/checkpoint/tensor.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::checkpoint {
namespace {

struct Known {
  Element element;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array kKnown{
    Known{Element::kF64, "F64", 8},   Known{Element::kF32, "F32", 4},        Known{Element::kF16, "F16", 2},
    Known{Element::kBf16, "BF16", 2}, Known{Element::kF8E4m3, "F8_E4M3", 1}, Known{Element::kF8E5m2, "F8_E5M2", 1},
    Known{Element::kI64, "I64", 8},   Known{Element::kI32, "I32", 4},        Known{Element::kI16, "I16", 2},
    Known{Element::kI8, "I8", 1},     Known{Element::kU64, "U64", 8},        Known{Element::kU32, "U32", 4},
    Known{Element::kU16, "U16", 2},   Known{Element::kU8, "U8", 1},          Known{Element::kBool, "BOOL", 1},
};

const Known& known(Element element) {
  for (const Known& one : kKnown)
    if (one.element == element) return one;
  ORRERY_CHECK(false, "a type of elements without a row");
}

// A number of `exponent` and `mantissa` bits as IEEE 754 has it; with `finite`, as OCP's E4M3: no infinities, and only
// the pattern of ones is no number.
float small_float(unsigned bits, int exponent_bits, int mantissa_bits, bool finite) {
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned most = (1U << exponent_bits) - 1;
  const unsigned exponent = (bits >> mantissa_bits) & most;
  const bool negative = (bits >> (mantissa_bits + exponent_bits)) & 1U;
  const int bias = static_cast<int>(most >> 1);
  float magnitude = 0;
  if (exponent == most && (!finite || mantissa == (1U << mantissa_bits) - 1)) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | (1U << mantissa_bits)),
                           static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return negative ? -magnitude : magnitude;
}

template <class Stored, class Convert>
std::vector<float> converted(std::string_view bytes, const Convert& convert) {
  std::vector<float> out(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = convert(stored);
  }
  return out;
}

template <class Stored>
std::vector<float> plain(std::string_view bytes) {
  return converted<Stored>(bytes, [](Stored value) { return static_cast<float>(value); });
}

}  // namespace

std::size_t size_of(Element element) {
  return known(element).bytes;
}

std::string_view name_of(Element element) {
  return known(element).name;
}

std::optional<Element> element_named(std::string_view name) {
  for (const Known& one : kKnown)
    if (one.name == name) return one.element;
  return std::nullopt;
}

std::vector<std::string> element_names() {
  std::vector<std::string> names;
  for (const Known& one : kKnown) names.emplace_back(one.name);
  return names;
}

std::optional<std::int64_t> elements(const std::vector<std::int64_t>& shape) {
  // A zero anywhere makes the product zero, however large the other sizes.
  for (const std::int64_t size : shape)
    if (size == 0) return 0;
  std::int64_t product = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
  return product;
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", base::joined(shape, ", "));
}

std::vector<float> as_floats(const Tensor& tensor) {
  const std::string_view bytes = tensor.bytes;
  switch (tensor.element) {
    case Element::kF64:
      return plain<double>(bytes);
    case Element::kF32:
      return plain<float>(bytes);
    case Element::kF16:
      return converted<std::uint16_t>(bytes, [](std::uint16_t bits) { return small_float(bits, 5, 10, false); });
    case Element::kBf16:
      return converted<std::uint16_t>(
          bytes, [](std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); });
    case Element::kF8E4m3:
      return converted<std::uint8_t>(bytes, [](std::uint8_t bits) { return small_float(bits, 4, 3, true); });
    case Element::kF8E5m2:
      return converted<std::uint8_t>(bytes, [](std::uint8_t bits) { return small_float(bits, 5, 2, false); });
    case Element::kI64:
      return plain<std::int64_t>(bytes);
    case Element::kI32:
      return plain<std::int32_t>(bytes);
    case Element::kI16:
      return plain<std::int16_t>(bytes);
    case Element::kI8:
      return plain<std::int8_t>(bytes);
    case Element::kU64:
      return plain<std::uint64_t>(bytes);
    case Element::kU32:
      return plain<std::uint32_t>(bytes);
    case Element::kU16:
      return plain<std::uint16_t>(bytes);
    case Element::kU8:
    case Element::kBool:
      return plain<std::uint8_t>(bytes);
  }
  return {};
}

}  // namespace orrery::formats::checkpoint
