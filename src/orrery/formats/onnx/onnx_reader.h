// An ONNX model (protobuf) from a file. Weights are passed over, external data is never opened, graphs within operators
// are not entered.
#pragma once

#include <string>
#include <string_view>

#include "orrery/formats/onnx/onnx_file.h"

namespace orrery::formats::onnx {

inline constexpr std::size_t kMostNodes = 200'000;
inline constexpr std::size_t kMostRank = 64;
inline constexpr Count kMostSize = Count{1} << 48;  // of a dimension

// Throws InputError: O0100 where there is no file, O0930 where it is no ONNX model or damaged, O0931 beyond a bound.
Model read(const std::string& path);

// The same of bytes at hand; `name` is what messages call them.
Model parse(std::string_view bytes, const std::string& name);

}  // namespace orrery::formats::onnx
