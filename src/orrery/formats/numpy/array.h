// NumPy's .npy files: one array of numbers each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::formats::numpy {

enum class Element { kFloat16, kFloat32, kFloat64, kInt8, kUint8, kBool, kInt32, kInt64 };

std::string_view name_of(Element element);  // "float32"
std::size_t size_of(Element element);
inline bool is_float(Element element) {
  return element <= Element::kFloat64;
}

struct Array {
  base::Location whole;  // the file, for messages
  Element element = Element::kFloat32;
  std::vector<base::Count> shape;
  base::Count elements = 1;
  std::string_view bytes;              // row-major, little-endian, at no particular address
  std::shared_ptr<const void> keeper;  // of the bytes
};

// "(1, 12, 512, 64)"
std::string shape_text(const std::vector<base::Count>& shape);

// The file is mapped; what is stored column-major (Fortran order) is copied to row-major. Throws InputError: O0100 (no
// such file), O1800 (no .npy file), O1801 (its header), O1802 (elements of another type), O1804 (bytes that are missing
// or too many).
Array read_array(const std::string& path);

// The same of bytes in memory.
Array array_of(std::string_view bytes, const std::string& name, std::shared_ptr<const void> keeper = {});

// As floats, float64 rounded. Throws O1805 where a number is NaN or infinite, also by rounding, with its indices.
std::vector<float> floats_of(const Array& array);

// Of int8, uint8 and bool, as bytes; of others nothing.
std::vector<std::uint8_t> whole_bytes_of(const Array& array);

// A file of format 1.0, row-major. `bytes` are little-endian elements.
std::string file_of(Element element, const std::vector<base::Count>& shape, std::string_view bytes);
std::string file_of(const std::vector<base::Count>& shape, const std::vector<float>& values);
std::string file_of(const std::vector<base::Count>& shape, const std::vector<std::uint8_t>& values);

}  // namespace orrery::formats::numpy
