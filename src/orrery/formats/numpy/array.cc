// Layout: "\x93NUMPY", version (two bytes), length of the header (two bytes in version 1, four in 2 and 3, little-
// endian), the header, the elements. Version 3 differs from 2 in the encoding of field names only, which plain arrays
// have not. Source: numpy.lib.format.
#include "orrery/formats/numpy/array.h"

#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "orrery/base/text/mapped_file.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/numpy/header.h"

namespace orrery::formats::numpy {
namespace {

using base::Count;

struct Kind {
  Element element;
  std::string_view name, descr;
  std::size_t size;
};
constexpr Kind kKinds[] = {{Element::kFloat16, "float16", "<f2", 2}, {Element::kFloat32, "float32", "<f4", 4},
                           {Element::kFloat64, "float64", "<f8", 8}, {Element::kInt8, "int8", "|i1", 1},
                           {Element::kUint8, "uint8", "|u1", 1},     {Element::kBool, "bool", "|b1", 1},
                           {Element::kInt32, "int32", "<i4", 4},     {Element::kInt64, "int64", "<i8", 8}};

const Kind& kind_of(Element element) {
  return kKinds[static_cast<std::size_t>(element)];
}

// The order of bytes does not matter to elements of one.
const Kind* kind_named(std::string_view descr) {
  for (const Kind& kind : kKinds)
    if (descr == kind.descr || (kind.size == 1 && descr.size() == 3 && descr.substr(1) == kind.descr.substr(1) &&
                                (descr[0] == '<' || descr[0] == '>' || descr[0] == '=')))
      return &kind;
  return nullptr;
}

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = std::size_t{1} << 20;

// The bytes of the header, and where the elements begin.
struct Parts {
  std::string_view header;
  std::size_t data = 0;
};

Parts parts_of(std::string_view bytes, const base::Location& whole) {
  const auto refuse = [&](const std::string& why) {
    base::fail("O1800", fmt::format("`{}` is not a .npy file: {}", whole.file->name, why), whole,
               "write it with numpy.save(); a .npz archive must be unpacked first");
  };
  if (bytes.substr(0, kMagic.size()) != kMagic)
    refuse(bytes.empty() ? "it is empty" : "it does not begin with \\x93NUMPY");
  if (bytes.size() < 8) refuse("it ends before its version");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  if (byte(6) < 1 || byte(6) > 3) refuse(fmt::format("its version is {}.{}, where 1 to 3 are known", byte(6), byte(7)));
  const std::size_t width = byte(6) == 1 ? 2 : 4, begin = 8 + width;
  if (bytes.size() < begin) refuse("it ends before the length of its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length |= byte(8 + i) << (8 * i);
  if (length > kMostHeader) refuse(fmt::format("its header would have {} bytes", length));
  if (bytes.size() - begin < length)
    refuse(fmt::format("its header should have {} bytes, and {} are there", length, bytes.size() - begin));
  return {bytes.substr(begin, length), begin + length};
}

// Column-major to row-major: the last index runs fastest in the result, the first in the file.
std::shared_ptr<std::string> row_major(const Array& array, std::string_view bytes) {
  const std::size_t size = size_of(array.element);
  auto out = std::make_shared<std::string>(bytes.size(), '\0');
  const std::size_t dimensions = array.shape.size();
  std::array<Count, kMostDimensions> index{}, stride{};
  stride[0] = 1;
  for (std::size_t d = 1; d < dimensions; ++d) stride[d] = stride[d - 1] * array.shape[d - 1];
  Count from = 0;
  for (Count to = 0; to < array.elements; ++to) {
    std::memcpy(out->data() + static_cast<std::size_t>(to) * size, bytes.data() + static_cast<std::size_t>(from) * size,
                size);
    for (std::size_t d = dimensions; d-- > 0;) {
      from += stride[d];
      if (++index[d] < array.shape[d]) break;
      from -= stride[d] * array.shape[d];
      index[d] = 0;
    }
  }
  return out;
}

template <class T>
T element_at(std::string_view bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

// An IEEE half; exact.
float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1f) return fraction == 0 ? sign * HUGE_VALF : std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

float float_at(const Array& array, std::size_t i) {
  switch (array.element) {
    case Element::kFloat16:
      return from_half(element_at<std::uint16_t>(array.bytes, i));
    case Element::kFloat32:
      return element_at<float>(array.bytes, i);
    case Element::kFloat64:
      return static_cast<float>(element_at<double>(array.bytes, i));
    case Element::kInt8:
      return element_at<std::int8_t>(array.bytes, i);
    case Element::kInt32:
      return static_cast<float>(element_at<std::int32_t>(array.bytes, i));
    case Element::kInt64:
      return static_cast<float>(element_at<std::int64_t>(array.bytes, i));
    default:
      return static_cast<unsigned char>(array.bytes[i]);
  }
}

std::string index_text(const std::vector<Count>& shape, Count at) {
  std::vector<Count> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = at % shape[d];
    at /= shape[d];
  }
  return fmt::format("[{}]", base::joined(index, ", "));
}

}  // namespace

std::string_view name_of(Element element) {
  return kind_of(element).name;
}

std::size_t size_of(Element element) {
  return kind_of(element).size;
}

std::string shape_text(const std::vector<Count>& shape) {
  return fmt::format("({}{})", base::joined(shape, ", "), shape.size() == 1 ? "," : "");
}

Array array_of(std::string_view bytes, const std::string& name, std::shared_ptr<const void> keeper) {
  Array array;
  array.whole = {std::make_shared<const base::SourceFile>(base::SourceFile{name, {}}), 0, 0};
  const Parts parts = parts_of(bytes, array.whole);
  const Header header = parse_header(name, parts.header);
  const Kind* kind = kind_named(header.descr);
  if (kind == nullptr)
    base::fail("O1802", fmt::format("elements of type `{}` are not read", header.descr), header.descr_where,
               header.descr.starts_with('>')
                   ? "it is big-endian: save array.astype(array.dtype.newbyteorder('<'))"
                   : "known: float32, float16, float64, int8, uint8, bool, int32 and int64; save "
                     "array.astype(numpy.float32)");
  array.element = kind->element;
  array.shape = header.shape;
  const std::string_view data = bytes.substr(parts.data);
  Count wanted = static_cast<Count>(kind->size);
  try {
    for (const Count size : array.shape) array.elements = base::checked_multiply(array.elements, size);
    wanted = base::checked_multiply(array.elements, wanted);
  } catch (const base::OverflowError&) {
    base::fail("O1801", fmt::format("the shape {} has more elements than 64 bits count", shape_text(array.shape)),
               header.shape_where, "save the array again");
  }
  const auto there = static_cast<Count>(data.size());
  if (there != wanted) {
    base::Diagnostics found;
    found
        .error("O1804", fmt::format("`{}` has {} bytes of elements where its header asks for {}", name, there, wanted),
               header.shape_where)
        .note(fmt::format("{} has {} elements of {} bytes", shape_text(array.shape), array.elements, kind->size))
        .hint(there < wanted ? "the file was cut off: copy or save it again"
                             : "something was written behind the array: save it alone");
    found.throw_if_errors();
  }
  array.bytes = data;
  array.keeper = std::move(keeper);
  if (header.fortran && array.shape.size() > 1) {
    const auto turned = row_major(array, data);
    array.bytes = *turned;
    array.keeper = turned;
  }
  return array;
}

Array read_array(const std::string& path) {
  const auto file = std::make_shared<const base::MappedFile>(path);
  return array_of(file->bytes(), path, file);
}

std::vector<float> floats_of(const Array& array) {
  std::vector<float> values(static_cast<std::size_t>(array.elements));
  if (array.element == Element::kFloat32) {
    if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float_at(array, i);
  }
  Count bad = 0, first = 0;
  for (std::size_t i = values.size(); i-- > 0;)
    if (!std::isfinite(values[i])) ++bad, first = static_cast<Count>(i);
  if (bad > 0) {
    base::Diagnostics found;
    found
        .error(
            "O1805",
            fmt::format("`{}` has {} at {}", array.whole.file->name,
                        std::isnan(values[static_cast<std::size_t>(first)]) ? "no number (NaN)" : "an infinite number",
                        index_text(array.shape, first)),
            array.whole)
        .note(fmt::format("{} of {} elements are not finite as float32", bad, array.elements))
        .hint("a mask of them would mean nothing: find where they come from, or save numpy.nan_to_num(array)");
    found.throw_if_errors();
  }
  return values;
}

std::vector<std::uint8_t> whole_bytes_of(const Array& array) {
  if (size_of(array.element) != 1) return {};
  std::vector<std::uint8_t> out(array.bytes.size());
  if (!out.empty()) std::memcpy(out.data(), array.bytes.data(), out.size());
  return out;
}

std::string file_of(Element element, const std::vector<Count>& shape, std::string_view bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", kind_of(element).descr,
                                   shape_text(shape));
  constexpr std::size_t kBefore = 10, kAligned = 64;  // the numbers begin at a multiple of it
  header.append(kAligned - 1 - (kBefore + header.size()) % kAligned, ' ');
  header += '\n';
  std::string out(kMagic);
  out += std::string_view("\x01\x00", 2);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  return out.append(header).append(bytes);
}

std::string file_of(const std::vector<Count>& shape, const std::vector<float>& values) {
  return file_of(Element::kFloat32, shape,
                 {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string file_of(const std::vector<Count>& shape, const std::vector<std::uint8_t>& values) {
  return file_of(Element::kUint8, shape, {reinterpret_cast<const char*>(values.data()), values.size()});
}

}  // namespace orrery::formats::numpy
